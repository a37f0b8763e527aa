/** The inbox's number of an event: rises in the order of arrival. */
export type Sequence = number;

/** Names a run, and says whether a row exists for it. */
export interface RunKey {
  readonly sequence: Sequence;
  readonly callId: string | undefined;
  readonly handler: string;
  readonly stored: boolean;
}

/** Whether a settlement took effect: `lost` when another process had taken over the claim. */
export type Settled = 'settled' | 'lost';
