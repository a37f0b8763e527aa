/** The inbox's number for an event: rises in the order of arrival. */
export type Sequence = number;

/** Which run, and whether a row exists for it. */
export interface RunKey {
  readonly sequence: Sequence;
  readonly callId: string | undefined;
  readonly handler: string;
  readonly stored: boolean;
}

/** Whether a settlement took effect: `lost` when another process had taken the claim over. */
export type Settled = 'settled' | 'lost';

/** Claims that a process has in hand. */
export interface HeldWork {
  readonly events: readonly Sequence[];
  readonly runs: readonly Pick<RunKey, 'sequence' | 'handler'>[];
}
