import { setImmediate } from 'node:timers/promises';
import type { Headers, Scheme } from '../events/model.ts';
import type { PreparedScheme } from './content.ts';
import { resolveSchemes } from './schemes.ts';
import type { PreparedSecret } from './secrets.ts';
import { type SignatureReason, type Timing, furtherOf, verifySignature } from './verify.ts';

/** The known scheme in which a delivery is signed, or the reason why there is none. */
export type SchemeFinding =
  | {
      readonly ok: true;
      readonly scheme: Scheme;
      /** Whether it is one of the accepted schemes. */
      readonly isAccepted: boolean;
      /** Whether the delivery's time is within the tolerance. */
      readonly isInTime: boolean;
    }
  | { readonly ok: false; readonly reason: SignatureReason };

/**
 * Finds the scheme in which one of the secrets signed a delivery, whatever its time. The accepted schemes are tried
 * first, so that it is found in the one that decides whether it is accepted, and then all other known ones.
 */
export async function findScheme(
  bytes: Uint8Array,
  headers: Headers,
  secrets: readonly PreparedSecret[],
  accepted: readonly PreparedScheme[],
  timing: Timing,
): Promise<SchemeFinding> {
  const others = resolveSchemes('auto').filter(
    ({ scheme }) => !accepted.some((each) => each.scheme === scheme),
  );
  let furthest: SignatureReason = 'signature_missing';
  for (const prepared of [...accepted, ...others]) {
    // All HMACs of large bodies together, also of several checks in a row, take so long that deliveries would wait too
    // long for their answers.
    await setImmediate();
    const verifies = (tolerance: number) =>
      verifySignature(bytes, headers, secrets, [prepared], { ...timing, tolerance });
    const found = verifies(Infinity);
    if (found.ok) {
      const isInTime = verifies(timing.tolerance).ok;
      return { ok: true, scheme: found.scheme, isAccepted: accepted.includes(prepared), isInTime };
    }
    furthest = furtherOf(furthest, found.reason);
  }
  return { ok: false, reason: furthest };
}
