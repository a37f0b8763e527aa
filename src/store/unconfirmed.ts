import { messageOf } from '../kit/error-text.ts';

/**
 * The error of `settleWith` when the write is committed and visible to everybody, but the disk has not confirmed that
 * it would survive a power cut. The write has not failed and must not be repeated: call `confirm` to ask the disk
 * again.
 */
export class Unconfirmed extends Error {
  /** Resolves when the write is on disk; rejects when the disk refuses once more. */
  readonly confirm: () => Promise<void>;

  constructor(cause: unknown, confirm: () => Promise<void>) {
    super(messageOf(cause), { cause });
    this.confirm = confirm;
  }
}
