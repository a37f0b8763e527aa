/** What the API answers, as far as the page shows it. Times are in ISO 8601, durations in milliseconds. */

export type RunState = 'due' | 'running' | 'blocked' | 'done' | 'dead';

export interface Counts {
  readonly events: { readonly new: number; readonly open: number; readonly done: number };
  readonly claims: { readonly events: number };
  readonly runs: Readonly<Record<Exclude<RunState, 'done'>, number>>;
  readonly quarantine: {
    readonly notAuthentic: number;
    readonly unreadable: number;
    readonly dropped: number;
  };
}

/** An attempt that failed. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly at: string;
  readonly duration: number;
  readonly outcome: 'retry' | 'dead';
  readonly cause: string;
  readonly place?: string;
  readonly reason: string;
}

export interface Run {
  readonly handler: string;
  readonly state: RunState;
  readonly attempts: number;
  readonly dueAt?: string;
  readonly settledAt?: string;
  readonly reason?: string;
  readonly replay?: number;
  readonly failures?: readonly FailedAttempt[];
}

export interface Event {
  readonly traceId: string;
  readonly source: 'delivered' | 'reconciled';
  readonly eventName: string;
  readonly callId?: string;
  readonly organizationId?: string;
  readonly agentId?: string;
  readonly state: 'new' | 'open' | 'done';
  readonly occurredAt: string;
  readonly receivedAt: string;
  readonly runs: readonly Run[];
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
}

export interface Events {
  readonly events: readonly Event[];
  readonly cursor?: string;
}

export interface Call {
  readonly callId: string;
  readonly organizationId?: string;
  readonly agentId?: string;
  readonly status: 'in_progress' | 'ended' | 'transferred' | 'analysed';
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly durationMs?: number;
  readonly transfer?: {
    readonly destination?: string;
    readonly status?: string;
    readonly reason?: string;
    readonly sentiment?: string;
    readonly at: string;
  };
  readonly analysis?: { readonly status?: string; readonly reason?: string; readonly at: string };
  readonly events: readonly {
    readonly name: string;
    readonly occurredAt: string;
    readonly receivedAt: string;
    readonly traceId: string;
  }[];
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}

export interface Calls {
  readonly calls: readonly Call[];
  readonly cursor?: string;
}

export interface Delivery {
  readonly id: number;
  readonly kind: 'not_authentic' | 'unreadable';
  readonly reason: string;
  readonly receivedAt: string;
  readonly traceId?: string;
  readonly bytes: number;
  readonly digest: string;
  readonly isCut: boolean;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

export interface Deliveries {
  readonly deliveries: readonly Delivery[];
  readonly cursor?: string;
}

export interface Drift {
  readonly findings: readonly {
    readonly eventName: string;
    readonly path: string;
    readonly kind: string;
    readonly firstSeenAt: string;
    readonly lastSeenAt: string;
    readonly count: number;
  }[];
}

export interface FailureGroup {
  readonly id: string;
  readonly handler: string;
  readonly cause: string;
  readonly place?: string;
  readonly message: string;
  readonly dead: number;
  readonly retrying: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly traceId?: string;
  readonly mutedAt?: string;
  readonly lastDay: readonly number[];
}

export interface Pause {
  readonly since: string;
  readonly by?: string;
  readonly reason?: string;
}

export interface HandlerState {
  readonly name: string;
  readonly settings?: {
    readonly patterns: readonly string[];
    readonly order: string;
    readonly concurrency: number;
    readonly timeout: number;
    readonly rate?: string;
    readonly join?: { readonly events: readonly string[]; readonly within: number };
  };
  readonly due: number;
  readonly running: number;
  readonly blocked: number;
  readonly dead: number;
  readonly isRegistered: boolean;
  readonly pause?: Pause;
}

export interface Handlers {
  readonly handlers: readonly HandlerState[];
  readonly processes: readonly {
    readonly id: number;
    readonly handlers: readonly string[];
    readonly isThis: boolean;
  }[];
}

export interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly by?: string;
  readonly action: string;
  readonly what: string;
  readonly reason?: string;
  readonly events: number;
  readonly runs: number;
  readonly finishedAt?: string;
  readonly progress?: {
    readonly state: 'running' | 'done' | 'stopped';
    readonly share: number;
    readonly handlers: Readonly<Record<string, number>>;
  };
}

export interface Running {
  readonly entries: readonly AuditEntry[];
}

export interface Audit {
  readonly entries: readonly AuditEntry[];
  readonly cursor?: string;
}

export interface Alerts {
  readonly alerts: readonly {
    readonly name: string;
    readonly subject?: string;
    readonly since: string;
    readonly message: string;
  }[];
}

export interface HistoryPoint {
  readonly at: string;
  readonly accepted: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly answerP50?: number;
  readonly answerP99?: number;
  readonly done: number;
  readonly retried: number;
  readonly dead: number;
  readonly handlerP50?: number;
  readonly handlerP99?: number;
  readonly waiting: number;
  readonly oldestWaiting?: number;
}

export interface History {
  readonly resolution: 'minute' | 'hour';
  readonly points: readonly HistoryPoint[];
}

/** What replaying and dismissing answer. */
export interface ChangedRuns {
  /** Left out of a dry run. */
  readonly state?: 'running' | 'done' | 'stopped';
  readonly events: number;
  readonly runs: number;
  readonly handlers: Readonly<Record<string, number>>;
}

export interface Erased {
  readonly events: number;
  readonly runs: number;
  readonly quarantined: number;
  readonly calls: number;
}
