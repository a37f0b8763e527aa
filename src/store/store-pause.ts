/** How long to wait before a store that has failed is tried again, in milliseconds. */
export const storePause = 1_000;
