/**
 * How many differences from the documents are kept, in all and of one event: their names are the sender's to choose, and
 * without bounds they could fill the disk.
 */
export const driftBounds = { rows: 1_000, rowsOfEvent: 200 };
