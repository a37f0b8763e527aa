/** Says which scheme would verify a delivery in quarantine, so that a person knows what to do about it. */
import { Semaphore } from '../../kit/limiters.ts';
import type { SignatureReason } from '../../signature/verify.ts';
import { describeScheme } from '../../signature/schemes.ts';
import type { KeptDelivery } from '../../store/quarantine-store.ts';
import { type ReleaseParts, readKept } from './release.ts';

/** What checking a signature can show. */
export const signatureStatuses = [
  'verifies',
  'verifies_otherwise',
  'out_of_tolerance',
  'does_not_verify',
  'authentic',
  'cut',
  'secrets_not_set',
] as const;

/**
 * `'verifies'`: it would be released if it can be read. `'verifies_otherwise'`: in another scheme than the expected
 * one. `'out_of_tolerance'`: it is signed correctly, but was too old when it arrived, or from the future.
 * `'authentic'`: it is in quarantine only because it can't be read. `'cut'`: only the head of its body is kept.
 * `'secrets_not_set'`: this process has no secrets to check it with.
 */
export type SignatureStatus = (typeof signatureStatuses)[number];

/** In which scheme a delivery in quarantine is signed, with the current secrets and as of its arrival. */
export interface SignatureCheck {
  readonly status: SignatureStatus;
  /** The scheme in which a current secret signed it, as a value of the option `signature`. */
  readonly scheme: string | undefined;
  /** The scheme that is set or pinned; undefined if none is, or if it wasn't looked up. */
  readonly expected: string | undefined;
  /** What was found and what to do, in sentences. */
  readonly message: string;
}

type SignatureCheckParts = Pick<ReleaseParts, 'store' | 'decoder' | 'authenticator' | 'schemes'>;

/** Checks the signatures of deliveries in quarantine, and changes nothing. */
export class SignatureChecks {
  readonly #parts: SignatureCheckParts;
  /** Several large bodies at once would leave new deliveries no time to be answered. */
  readonly #one = new Semaphore(1);

  constructor(parts: SignatureCheckParts) {
    this.#parts = parts;
  }

  /** Resolves to undefined if there is no such delivery. */
  check(id: number): Promise<SignatureCheck | undefined> {
    return this.#one.run(async () => {
      const kept = await this.#parts.store.get(id);
      return kept && this.#check(kept);
    });
  }

  async #check(kept: KeptDelivery): Promise<SignatureCheck> {
    const { authenticator, schemes, decoder } = this.#parts;
    const { id, kind, isCut, body, headers, receivedAt } = kept;
    if (kind === 'unreadable') return unchecked('authentic');
    if (isCut) return unchecked('cut');
    const found = await authenticator.findScheme(body, headers, receivedAt);
    if (!found) return unchecked('secrets_not_set');
    const { given, pinned } = schemes;
    const expected = given ?? pinned;
    if (!found.ok) return refuted(expected, `${reasons[found.reason]} ${detectIt(id)}`);
    const scheme = describeScheme(found.scheme);
    const { isAccepted, isInTime } = found;
    if (!isInTime)
      return { status: 'out_of_tolerance', scheme, expected, message: late(scheme, isAccepted, expected) };
    if (isAccepted) return { status: 'verifies', scheme, expected, message: right(scheme, expected) };
    // An attacker can cut up a captured delivery so that it verifies in another scheme. The person who looks must not
    // take that for a change of the platform's scheme.
    const reading = await readKept(decoder, kept, found.scheme);
    if (!reading.ok) return refuted(expected, cutUp(scheme, reading.reason));
    const message = given === undefined ? notPinned(scheme, pinned) : notGiven(scheme, given);
    return { status: 'verifies_otherwise', scheme, expected, message };
  }
}

function unchecked(status: keyof typeof uncheckable): SignatureCheck {
  return { status, scheme: undefined, expected: undefined, message: uncheckable[status] };
}

function refuted(expected: string | undefined, message: string): SignatureCheck {
  return { status: 'does_not_verify', scheme: undefined, expected, message };
}

const uncheckable = {
  authentic:
    "It was authentic, and is here only because it can't be read. Releasing it doesn't check its signature again.",
  cut: "Only the beginning of its body is kept, so its signature can't be checked any more, and it can't be released.",
  secrets_not_set:
    'This process has no secrets, or could not get them, so it cannot tell: only a receiver with the secrets can. Look ' +
    "there, or give this process the receiver's secrets.",
};

/** Why no known scheme verifies it. All known schemes were tried, so a reason holds for each of them. */
const reasons: Readonly<Record<SignatureReason, string>> = {
  signature_missing: 'It has no signature in a header of a known scheme.',
  signature_malformed: 'Its signature is written in the form of no known scheme.',
  timestamp_missing: 'Its signature is written in the form of schemes that sign a time, and it has no time.',
  signature_mismatch:
    'It verifies in no known scheme with the current secrets: it was signed with another secret, its body was changed ' +
    'on the way, or it is forged.',
  timestamp_unreadable: "A current secret signed it, but its signed time can't be read.",
  timestamp_out_of_tolerance: 'A current secret signed it, but not within the tolerance.',
};

function detectIt(id: number): string {
  return `With the secrets, ringback signature detect --quarantine ${id} tries more schemes, and looks for changes of the body.`;
}

function right(scheme: string, expected: string | undefined): string {
  const pins = expected === undefined ? ' No scheme is pinned yet: as a new event, it pins this one.' : '';
  return `It verifies with a current secret in the scheme ${scheme}, so it can be released.${pins}`;
}

function late(scheme: string, isAccepted: boolean, expected: string | undefined): string {
  const besides = isAccepted ? '' : ` Besides, only ${expected} is accepted.`;
  return (
    `A current secret signed it in the scheme ${scheme}, but its time was outside the tolerance when it arrived: an old ` +
    'delivery that somebody has sent again looks like this. If the clock of the receiver was wrong, set tolerance to at ' +
    `least its error, check again, and set it back.${besides}`
  );
}

function notGiven(scheme: string, given: string): string {
  return (
    `A current secret signed it in the scheme ${scheme}, but the option signature accepts only ${given}. If the platform ` +
    `signs so, set signature: '${scheme}', restart the receiver, and check again.`
  );
}

function notPinned(scheme: string, pinned: string | undefined): string {
  return (
    `A current secret signed it in the scheme ${scheme}, but ${pinned} is pinned. If the platform has changed its scheme, ` +
    'check all again (ringback inbox reverify --yes): that moves the pin once two different events have arrived so after ' +
    'the last event that was accepted. While others still arrive in the pinned scheme, this is more likely an old ' +
    'delivery that somebody has sent again.'
  );
}

function cutUp(scheme: string, reason: string): string {
  return (
    `A current secret signed these bytes in the scheme ${scheme}, but they are no event (${reason}): it is most likely a ` +
    'captured delivery that somebody has cut up to fit another scheme. Discard it.'
  );
}
