/** A statement of the platform's document: its number, which never changes, and what it says in our words. */
export type Statement = readonly [id: string, words: string];
