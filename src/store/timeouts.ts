/** How long to wait before a store that has failed is tried again, in milliseconds. */
export const storePause = 1_000;

/** How long a delivery waits for its write, in milliseconds: its sender waits for one second in all. */
export const recordTimeout = 700;
