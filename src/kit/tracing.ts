/** The interface to tracing, such as OpenTelemetry. A tracer gets ids and names, and nothing else of an event. */

export interface TracedAttempt {
  readonly traceId: string;
  readonly callId: string | undefined;
  readonly eventName: string;
  readonly handler: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** The trace context (W3C `traceparent`) that was kept with the event, if there was one. */
  readonly traceparent: string | undefined;
}

/** The span of one attempt. */
export interface AttemptSpan {
  /** Calls the handler within the span, so that what the handler calls is part of the attempt. */
  handle<T>(work: () => T): T;
  /** Settles the attempt within the span. */
  settle<T>(work: () => Promise<T>): Promise<T>;
  /** `cause`: the class or code of what was thrown. */
  end(outcome: string, cause: string | undefined): void;
}

/** Traces deliveries and attempts. None of its methods may throw. */
export interface Tracer {
  /** Traces a delivery until it is answered. Rejects as `take` does. */
  receive<T extends { readonly status: string; readonly traceId: string }>(
    traceparent: string | undefined,
    take: () => Promise<T>,
  ): Promise<T>;
  /** The trace context of the delivery that is being taken, to be kept with its event. */
  current(): string | undefined;
  attempt(attempt: TracedAttempt): AttemptSpan;
}

/** Holds the tracer, if there is one. */
export interface Tracing {
  tracer: Tracer | undefined;
}
