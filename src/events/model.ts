/**
 * The types of data on its way in: Delivery → CallEvent → Reply. A stage checks the delivery, or takes one type and
 * returns the next. The types after the answer are listed in `dispatch/run.ts`.
 */
import type { Readable } from 'node:stream';
import type { TrustProxy } from '../kit/trust-proxy.ts';

/** The headers of a delivery: names in lower case, as node:http gives them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Where the raw bytes of a delivery are: not read yet (`stream`), read by a body parser that kept them (`bytes`), or
 * lost to a body parser that did not (`parsed`).
 */
export type BodySource =
  | { readonly kind: 'stream'; readonly stream: Readable; readonly found?: LostBytes | undefined }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'parsed'; readonly found?: LostBytes | undefined };

/** How bytes were lost, for the log: they were decoded as text, or the app has answered already. */
export type LostBytes = 'text' | 'answer';

/** One HTTP request from the platform, independent of any web framework. */
export interface Delivery {
  readonly method: string;
  readonly headers: Headers;
  readonly body: BodySource;
  /** Address of the socket's peer, if there is a socket. */
  readonly peerAddress: string | undefined;
  /** Whether the socket itself is TLS. */
  readonly encrypted: boolean;
  /** The Express app's `trust proxy`, if the receiver is mounted in one. The receiver's own option has precedence. */
  readonly appTrustProxy: TrustProxy | undefined;
}

/** The answer to the sender. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** Takes a delivery and resolves to the answer; never rejects. */
export type Take = (delivery: Delivery) => Promise<Reply>;

/** How a signature is written and what it covers. */
export interface Scheme {
  /** Header that carries the signature, in lower case. */
  readonly header: string;
  /** How the header is written: `v1=…`, `t=…,v1=…`, `sha256=…`, `v1,…`, or the bare signature. */
  readonly syntax: 'v1=' | 't=,v1=' | 'sha256=' | 'v1,' | 'bare';
  /**
   * What is signed: a template of `{body}`, `{t}` (from the signature header), `{id}` and `{timestamp}` (each from a
   * header of its own).
   */
  readonly content: string;
  /** How the bytes of the signature are written as text. */
  readonly encoding: 'hex' | 'base64';
  /** The hash function of the HMAC. */
  readonly hash: 'sha256' | 'sha512';
  /** How the secret becomes the key: all of it, the text after `whsec_`, or that text decoded from base64. */
  readonly key: 'whole' | 'suffix' | 'suffix-base64';
}

/**
 * Where an event comes from: a delivery of the platform, or `receiver.reconcile`, which has rebuilt it from what the
 * platform says of its call.
 */
export type EventSource = 'delivered' | 'reconciled';

/** Where an event's time was found. */
export type OccurredAtSource = 'body' | 'header' | 'arrival';

/** A required field of an event that is missing or invalid. `path` is dotted, and never contains a value. */
export interface Issue {
  readonly path: string;
  readonly expected: string;
}

/** What a delivery reports, read leniently. `Name` and `Payload` are narrowed by the event's name. */
export interface CallEvent<Name extends string = string, Payload = Record<string, unknown>> {
  /** Identity of the event: the body's `traceId`, else the header's, else `sha256:` and the body's digest. */
  readonly traceId: string;
  readonly traceIdSource: 'body' | 'header' | 'digest';
  /** `reconciled`: its delivery was lost, and the event was rebuilt. Its payload then has only the ids. */
  readonly source: EventSource;
  /**
   * For example `CallHandler.CallEnded`; `unknown` if neither body nor header names it and its fields are not a
   * transfer's.
   */
  readonly eventName: Name;
  /** Identity of the call, if the event has one. Don't assume a format: it is the platform's. */
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  /** The payload, the same whether the event came flat or in the envelope; unknown fields are kept. */
  readonly payload: Payload;
  /** The parsed body exactly as it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The timestamp as it was sent, or undefined. */
  readonly timestamp: string | number | undefined;
  /** When it happened, to the millisecond. */
  readonly occurredAt: Date;
  /** When it happened, in nanoseconds since 1970. */
  readonly occurredAtNs: bigint;
  /** Where the time was found: the body, else the header, else the arrival. */
  readonly occurredAtSource: OccurredAtSource;
  /** Where the payload is not what the event's name promises. An event with issues goes to the fallback. */
  readonly issues: readonly Issue[];
}
