/** The inbox's number of an event: rises in the order of arrival. */
export type Sequence = number;

/** Whether a write about a claim took effect: `lost` when another process had taken over the claim. */
export type Settled = 'settled' | 'lost';
