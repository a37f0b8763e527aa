/** How long to wait before a store that has failed is tried again, in milliseconds. */
export const storePause = 1_000;

/** How often a process reports that it is alive and looks for dead processes, in milliseconds. */
export const heartbeatInterval = 2_000;

/** How long a delivery waits for its write, in milliseconds: its sender waits for one second in all. */
export const recordTimeout = 700;
