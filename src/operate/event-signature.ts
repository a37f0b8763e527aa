/** Says what the signature of a stored event proves. Nothing of that is stored: bytes and headers are, to check it again. */
import { Semaphore } from '../kit/limiters.ts';
import { dateOf } from '../kit/time.ts';
import type { Scheme } from '../events/model.ts';
import { prepareScheme } from '../signature/content.ts';
import { describeScheme } from '../signature/schemes.ts';
import { signedTimeOf } from '../signature/verify.ts';
import type { KeptEventWithBytes } from '../store/event-store.ts';
import type { Authenticator } from './quarantine/release.ts';

/** What checking the signature of an event can show. */
export const eventSignatureStatuses = [
  'verifies',
  'does_not_verify',
  'unsigned',
  'reconciled',
  'secrets_not_set',
] as const;

/**
 * `'verifies'`: a current secret signed it. `'does_not_verify'`: none did. `'unsigned'`: it has no signature.
 * `'reconciled'`: it was not delivered. `'secrets_not_set'`: this process has no secrets to check it with.
 */
export type EventSignatureStatus = (typeof eventSignatureStatuses)[number];

/** What the signature of an event proves, with the current secrets. */
export interface EventSignature {
  readonly status: EventSignatureStatus;
  /** The scheme in which a current secret signed it, as a value of the option `signature`. */
  readonly scheme: string | undefined;
  /** The time that the signature covers; undefined if it covers none. */
  readonly signedAt: Date | undefined;
  /** What is proved, in sentences. */
  readonly message: string;
}

/** Checks the signatures of stored events. */
export class EventSignatures {
  readonly #authenticator: Pick<Authenticator, 'findScheme'>;
  /** Several large bodies at once would leave new deliveries no time to be answered. */
  readonly #one = new Semaphore(1);

  constructor(authenticator: Pick<Authenticator, 'findScheme'>) {
    this.#authenticator = authenticator;
  }

  /** Reads the event only when its turn has come, so that one body is held at a time. */
  check(read: () => Promise<KeptEventWithBytes | undefined>): Promise<EventSignature | undefined> {
    return this.#one.run(async () => {
      const kept = await read();
      return kept && this.#check(kept);
    });
  }

  async #check({ source, body, headers, receivedAt }: KeptEventWithBytes): Promise<EventSignature> {
    if (source === 'reconciled') return unproved('reconciled');
    const found = await this.#authenticator.findScheme(body, headers, receivedAt);
    if (!found) return unproved('secrets_not_set');
    if (!found.ok) return unproved(found.reason === 'signature_missing' ? 'unsigned' : 'does_not_verify');
    const { scheme } = found;
    const signedAt = dateOf(signedTimeOf(headers, scheme));
    return { status: 'verifies', scheme: describeScheme(scheme), signedAt, message: proofOf(scheme) };
  }
}

function unproved(status: keyof typeof reasons): EventSignature {
  return { status, scheme: undefined, signedAt: undefined, message: reasons[status] };
}

const reasons = {
  does_not_verify:
    'No current secret signed it. It was accepted when another secret was in force, or by a receiver without secrets, ' +
    'which checks only the headers of the subscription.',
  unsigned:
    'It has no signature in a header of a known scheme. It was accepted by a receiver without secrets, which checks only ' +
    'the headers of the subscription: they prove nothing about the body.',
  reconciled: "It was never delivered, but rebuilt from the platform's record of the call.",
  secrets_not_set:
    'This process has no secrets, or could not get them, so it cannot tell. A receiver without secrets checks only the ' +
    'headers of the subscription, which prove nothing about the body; one that has them can check this event.',
};

function proofOf(scheme: Scheme): string {
  const { signs } = prepareScheme(scheme);
  const isTimeSigned = signs.t || signs.timestamp;
  const signed = ['the body', ...(isTimeSigned ? ['its time'] : []), ...(signs.id ? ['its trace id'] : [])];
  const last = signed.length > 1 ? ` and ${signed.pop()}` : '';
  const untimed = isTimeSigned ? '' : ' No time is signed: a copy could be sent again at any time.';
  const what = `${signed.join(', ')}${last}`;
  return `A current secret signed ${what}: that was written by somebody who has it, and not changed on the way.${untimed}`;
}
