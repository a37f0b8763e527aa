/** The shapes that the sandbox's parts exchange. Wire shapes are snake_case, as in the platform's document. */

/** The user that a request's bearer token stands for, with their organization. */
export interface Caller {
  readonly organizationId: string;
  readonly userId: string;
}

/** An AI agent. It has calls and custom tools, and a subscription's scope may be restricted to it. */
export interface Agent {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | undefined;
  readonly name: string;
}

/** The restriction of a subscription. */
export type Scope = 'ORGANIZATION' | 'WORKSPACE' | 'AGENT';

/** How failed attempts are retried; the only policy that the platform has shown. */
interface RetryPolicy {
  readonly retryStrategy: 'FIXED_DELAY';
  /** Attempts after the first. */
  readonly maxRetryAttempts: number;
  /** The wait between two attempts, in milliseconds. */
  readonly maxRetryDelayMs: number;
}

/** A subscription: the fields that its owner may read, and its secrets, each shown to the owner only once. */
export interface Subscription {
  readonly id: string;
  readonly organizationId: string;
  readonly createdUserId: string;
  readonly scope: Scope;
  readonly name: string;
  readonly description: string | undefined;
  readonly url: string;
  readonly active: boolean;
  readonly events: readonly string[];
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly agentIds: readonly string[] | undefined;
  readonly workspaceIds: readonly string[] | undefined;
  readonly requestTimeoutMs: number;
  readonly retryPolicy: RetryPolicy;
  /** Undefined if deliveries are unsigned. */
  readonly secret: string | undefined;
  /** The secret before the last rotation. It signs too until `expiresAt`, in milliseconds since 1970. */
  readonly previousSecret: { readonly secret: string; readonly expiresAt: number } | undefined;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An event, which is delivered to each subscription that asks for it. */
export interface SandboxEvent {
  readonly traceId: string;
  readonly eventName: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly workspaceId: string | undefined;
  readonly callId: string;
  /** The body as it is sent, before any signature. */
  readonly body: Uint8Array;
}

/** One attempt to deliver an event to a subscription. */
export interface Attempt {
  readonly id: number;
  readonly subscriptionId: string;
  readonly traceId: string;
  readonly callId: string;
  readonly eventName: string;
  /** Counted from 1 for each event and subscription. */
  readonly number: number;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** From the request's first byte to the end of the answer or the failure, in milliseconds. */
  readonly latencyMs: number;
  /** The answer's status; undefined when no answer came. */
  readonly status: number | undefined;
  /** The first kilobyte of the answer's body. */
  readonly answer: string | undefined;
  /** Why no answer came: 'timeout', 'refused', 'cut', … */
  readonly failure: string | undefined;
  readonly isDelivered: boolean;
  /** The adversary's disturbance of this attempt, if any. */
  readonly disturbance: string | undefined;
}

/** A time as the platform writes it: ISO 8601 with milliseconds and `Z`. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
