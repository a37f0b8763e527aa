/**
 * The marks in the header of our database files (SQLite's `application_id`), so that neither is taken for the other, nor
 * for another program's.
 */

/** "RBin": a receiver has made the file its inbox. */
export const inboxMark = 0x52_42_69_6e;

/** "RBsb": the file is a sandbox's. */
export const sandboxMark = 0x52_42_73_62;
