/** What follows a delivery and the attempts of its runs. It is given ids and names, and nothing else of an event. */

/** An attempt that begins. */
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

/** What follows one attempt. */
export interface AttemptSpan {
  /** Calls the handler: what it calls itself is a part of the attempt. */
  handle<T>(work: () => T): T;
  /** Writes how it ended. */
  settle<T>(work: () => Promise<T>): Promise<T>;
  /** `cause`: the class or code of what was thrown. */
  end(outcome: string, cause: string | undefined): void;
}

/** Follows deliveries and attempts, such as OpenTelemetry. None of its methods may throw. */
export interface Tracer {
  /** Follows a delivery until it is answered. Rejects as `take` does. */
  receive<T extends { readonly status: string; readonly traceId: string }>(
    traceparent: string | undefined,
    take: () => Promise<T>,
  ): Promise<T>;
  /** The trace context of the delivery that is being taken, to be kept with its event. */
  current(): string | undefined;
  attempt(attempt: TracedAttempt): AttemptSpan;
}

/** Who follows, if anybody does. */
export class Tracing {
  #tracer: Tracer | undefined;

  get tracer(): Tracer | undefined {
    return this.#tracer;
  }

  use(tracer: Tracer): void {
    this.#tracer = tracer;
  }
}

/** What follows nothing. */
export const untraced: AttemptSpan = {
  handle: (work) => work(),
  settle: (work) => work(),
  end: () => {},
};
