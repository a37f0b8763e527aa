/** What a store reports by itself, for the log: nobody has called for it. */
export type StoreNotice =
  /** What holds the data was deleted or replaced. Nothing can be written any more; `found` ends a sentence. */
  | { readonly kind: 'replaced'; readonly found: string }
  /** The last process crashed, and the write-ahead log that it left behind is missing. */
  | { readonly kind: 'wal_missing' }
  /** The user's code began a transaction, at this place in its files, and left it open: it was rolled back. */
  | { readonly kind: 'transaction_left_open'; readonly place: string | undefined };
