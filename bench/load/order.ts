import type { BodyName } from './bodies.ts';

/** What one run of the load is to do. */
export interface LoadOrder {
  readonly port: number;
  /** The most connections to open. */
  readonly connections: number;
  readonly body: BodyName;
  /** How long to send, unless all prepared deliveries are sent earlier. */
  readonly seconds: number;
  /** How many deliveries to prepare. */
  readonly max: number;
  /** Deliveries per second over all connections, sent whether or not answers come; 0 sends them as answers come. */
  readonly pace: number;
  /** Whether to report the trace ids of the deliveries that were answered with 200, and of those with 503. */
  readonly tellsIds?: boolean;
}

/** How long to wait for the last answers once the time is over, in milliseconds. */
export const answerTimeout = 10_000;

/** The result of a run of the load. Times are in milliseconds. */
export interface LoadReport {
  /** All answers, of any status. */
  readonly answered: number;
  readonly accepted: number;
  /** Answers of 503 with Retry-After. */
  readonly putOff: number;
  /** Deliveries without an answer, because their connection ended or the time was over. */
  readonly broken: number;
  /** Whether the prepared deliveries were used up before the time was over. */
  readonly ranOut: boolean;
  readonly rate: number;
  /** The first delivery and the last answer, on the monotonic clock of `process.hrtime`, which processes share. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** The share of one core that the load itself used. */
  readonly cpu: number;
  readonly acceptedIds: readonly string[];
  readonly putOffIds: readonly string[];
}
