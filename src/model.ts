/**
 * The shapes data takes on its way: Delivery → CallEvent here, Run → Outcome in `handling.ts`. A stage takes
 * one shape and returns the next.
 */
import type { Readable } from 'node:stream';
import type { TrustProxy } from './kit/trust-proxy.ts';

/** The headers of a delivery: names in lower case, as node:http gives them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Where the raw bytes of a delivery are: still on the way, already read by a body parser that kept them, or
 * lost to one that did not.
 */
export type BodySource =
  | { readonly kind: 'stream'; readonly stream: Readable }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'parsed' };

/** One HTTP request from the platform, with nothing of a web framework left in it. */
export interface Delivery {
  readonly method: string;
  readonly headers: Headers;
  readonly body: BodySource;
  /** Address of the socket's peer, when there is a socket. */
  readonly peerAddress: string | undefined;
  /** Whether the socket itself is TLS. */
  readonly encrypted: boolean;
  /** The app's own `trust proxy`, when mounted in Express; the receiver's option goes first. */
  readonly appTrustProxy: TrustProxy | undefined;
}

/** What the sender is answered. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** Takes a delivery and says what to answer; never rejects. */
export type Take = (delivery: Delivery) => Promise<Reply>;

/** How a signature is written and over what. Every name below is explained in `signature/layouts.ts`. */
export interface Layout {
  /** Header that carries the signature, in lower case. */
  readonly header: string;
  /** How the header is written: `v1=…`, `t=…,v1=…`, `sha256=…`, `v1,…`, or the bare signature. */
  readonly syntax: 'v1=' | 't=,v1=' | 'sha256=' | 'v1,' | 'bare';
  /** What is signed, over `{body}`, `{t}` (from the signature header), `{id}` and `{timestamp}` (from theirs). */
  readonly content: string;
  /** How the bytes of the signature are written as text. */
  readonly encoding: 'hex' | 'base64';
  /** The hash function of the HMAC. */
  readonly hash: 'sha256' | 'sha512';
  /** How the secret becomes the key: all of it, the text after `whsec_`, or that text decoded from base64. */
  readonly key: 'whole' | 'suffix' | 'suffix-base64';
}

/** How far the way of reading an event's time had to go. */
export type OccurredAtSource = 'body' | 'header' | 'arrival';

/** Something in an event that is not what its name promises. `path` is dotted; no value is ever in it. */
export interface Issue {
  readonly path: string;
  readonly expected: string;
}

/** What a delivery tells, read leniently. `Name` and `Payload` are narrowed by the event's name. */
export interface CallEvent<Name extends string = string, Payload = Record<string, unknown>> {
  /** Identity of the event: the body's `traceId`, else the header's, else `sha256:` and the body's digest. */
  readonly traceId: string;
  readonly traceIdSource: 'body' | 'header' | 'digest';
  /** For example `CallHandler.CallEnded`; `unknown` when neither body nor header names it. */
  readonly eventName: Name;
  /** Identity of the call, when the event has one. Its format is not ours to assume. */
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  /** The payload in one shape, whether the event came flat or in the envelope; unknown fields included. */
  readonly payload: Payload;
  /** The parsed body exactly as it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The timestamp as it was sent, or undefined. */
  readonly timestamp: string | number | undefined;
  /** When it happened, to the millisecond. */
  readonly occurredAt: Date;
  /** When it happened, in nanoseconds since 1970. */
  readonly occurredAtNs: bigint;
  /** Where the time was found: the body, the header, or, for want of both, the arrival. */
  readonly occurredAtSource: OccurredAtSource;
  /** What the payload misses of what its name promises. An event with issues goes to the fallback. */
  readonly issues: readonly Issue[];
}
