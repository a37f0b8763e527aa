import { messageOf } from '../kit/error-text.ts';

/**
 * A store's `settleWith` rejects with this when a write is committed and everybody sees it, but the disk has not
 * confirmed that it would survive a power cut. The write must not be made again, and it has not failed: call
 * `confirm` to ask the disk again.
 */
export class Unconfirmed extends Error {
  /** Resolves when the write is on disk; rejects when the disk refuses once more. */
  readonly confirm: () => Promise<void>;

  constructor(cause: unknown, confirm: () => Promise<void>) {
    super(messageOf(cause), { cause });
    this.confirm = confirm;
  }
}
