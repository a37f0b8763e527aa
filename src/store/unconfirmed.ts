import { messageOf } from '../kit/error-text.ts';

/**
 * What a store's `settleWith` rejects with for a write that is committed, so that everybody sees it, while the disk has not
 * confirmed that it would survive a power cut. To write it again would be wrong, and to say that it failed as well: what
 * helps is to ask again.
 */
export class Unconfirmed extends Error {
  /** Resolves when it is on disk; rejects when the disk refuses once more. */
  readonly confirm: () => Promise<void>;

  constructor(cause: unknown, confirm: () => Promise<void>) {
    super(messageOf(cause), { cause });
    this.confirm = confirm;
  }
}
