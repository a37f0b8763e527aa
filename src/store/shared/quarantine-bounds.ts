/** How much of the disk deliveries that are not authentic may take: beyond that, the oldest are dropped. */
export const quarantineBounds = { unauthenticated: 1_000, unauthenticatedBytes: 50 * 1024 * 1024 };
