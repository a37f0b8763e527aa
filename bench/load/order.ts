import type { BodyName } from './bodies.ts';

/** What one run of the load is asked for. */
export interface LoadOrder {
  readonly port: number;
  /** How many connections are open at the most. */
  readonly connections: number;
  readonly body: BodyName;
  /** It ends after so long, or when all deliveries are sent. */
  readonly seconds: number;
  /** How many deliveries to prepare. */
  readonly most: number;
  /** Deliveries a second over all connections, sent whether or not answers come; 0 sends as answers come. */
  readonly pace: number;
  /** Whether to tell the trace ids of what was answered with 200. */
  readonly tellsAccepted?: boolean;
}

/** How long the last answers are waited for once the time is over, in milliseconds. */
export const answerPatience = 10_000;

/** What came of it. Times in milliseconds. */
export interface LoadReport {
  /** Answers, whatever they were. */
  readonly answered: number;
  readonly accepted: number;
  /** Answers of 503 that say when to come back. */
  readonly putOff: number;
  /** Connections that ended without the answer they owed. */
  readonly broken: number;
  /** Whether the prepared deliveries were used up before the time was over. */
  readonly ranOut: boolean;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Part of one core that the load itself used. */
  readonly cpu: number;
  readonly acceptedIds: readonly string[];
}
