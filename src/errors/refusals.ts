/** Why deliveries are refused. The sender gets a code and a status; the reason goes only to the log. */

/** The answers that a sender can get instead of 200. No other place has their statuses. */
export const refusals = {
  method: { status: 405, headers: { allow: 'POST' } },
  media_type: { status: 415, headers: {} },
  too_large: { status: 413, headers: {} },
  https_required: { status: 403, headers: {} },
  host_not_allowed: { status: 421, headers: {} },
  not_authentic: { status: 401, headers: {} },
  timeout: { status: 408, headers: {} },
  body_already_parsed: { status: 500, headers: {} },
  unavailable: { status: 503, headers: { 'retry-after': '2' } },
} as const satisfies Record<string, { status: number; headers: Readonly<Record<string, string>> }>;

/** The code of a refusal: the whole body of the answer is `{"error": code}`. */
export type RefusalCode = keyof typeof refusals;

/** Whether an answer is a refusal by a receiver: a code of the table, with its status. */
export function isRefusal(code: unknown, status: number): code is RefusalCode {
  if (typeof code !== 'string' || !Object.hasOwn(refusals, code)) return false;
  return refusals[code as RefusalCode].status === status;
}

/** `peer` is undefined on a Unix socket, and in `receiver.fetch` without `peerAddress`. */
interface Connection {
  readonly peer: string | undefined;
}

const trustWithoutAddress =
  "the peer's address is not known (receiver.fetch without { peerAddress }, or a Unix socket), so no list of addresses in " +
  'trustProxy can match it. If your server knows the address, pass it: receiver.fetch(request, { peerAddress }). Or, if ' +
  'only your proxy can reach this server, set https: { trustProxy: 1 }';

function named(peer: string | undefined): string {
  return peer === undefined ? '' : ` ${peer}`;
}

/** What to do about a body whose bytes are lost, by how they were lost. */
const alreadyParsed = {
  nothing:
    'A body parser in front of the receiver consumed the raw bytes, which the signature covers: mount the ' +
    "receiver before express.json(), or keep the bytes with express.json({ limit: '5mb', verify: (req, _res, " +
    'buffer) => Object.assign(req, { rawBody: buffer }) }).',
  text:
    'The rawBody of the request is a string, but the signature covers the raw bytes: keep the Buffer itself instead of the ' +
    'result of its toString(), with verify: (req, _res, buffer) => Object.assign(req, { rawBody: buffer }).',
  answer:
    'The app answered the delivery before it reached the receiver, so it is not stored, whatever that answer says: mount the ' +
    'receiver before the code that answers, or exclude the path from that code.',
} as const;

/**
 * What users can do about a refusal whose cause may be their own set-up, by its reason. For the log only, where each
 * different sentence is written once, and only a few per reason.
 */
export const fixes = {
  not_open: () =>
    'The receiver was never started, so it accepts no deliveries: call await receiver.start() once its handlers ' +
    'are registered.',
  proxy_not_trusted: ({ peer }: Connection) =>
    peer === undefined
      ? `A header says https, but no proxy is trusted: ${trustWithoutAddress}.`
      : `The peer ${peer} says https, but is not a trusted proxy: set https: { trustProxy }, for example to 'loopback' ` +
        '(--trust-proxy loopback).',
  not_https: ({ peer }: Connection) =>
    (peer === undefined
      ? 'A delivery came over plain HTTP: serve HTTPS, or put a TLS proxy in front that sets X-Forwarded-Proto; ' +
        `${trustWithoutAddress}. `
      : `The peer ${peer} sent a delivery over plain HTTP: serve HTTPS, or put a TLS proxy in front that sets ` +
        'X-Forwarded-Proto and name it in https: { trustProxy } (--trust-proxy). ') +
    'For development on loopback set https: { required: false } (--insecure-http).',
  proxy_silent: ({ peer }: Connection) =>
    `The trusted proxy${named(peer)} did not say whether the client used HTTPS: let it set X-Forwarded-Proto ` +
    '(nginx: proxy_set_header X-Forwarded-Proto $scheme).',
  proxy_says_http: ({ peer }: Connection) =>
    `The trusted proxy${named(peer)} says that the client used plain HTTP: serve HTTPS there. If another proxy in ` +
    'front of it terminates TLS, let that one set X-Forwarded-Proto, and this one pass it on.',
  https_contradicted: ({ peer }: Connection) =>
    `The trusted proxy${named(peer)} sent headers that contradict each other about http and https: make it overwrite ` +
    "X-Forwarded-Proto and Forwarded instead of passing the client's on.",
  host_is_address: () =>
    'The Host header is an IP address, but the platform delivers to domain names only. Behind a proxy, let it ' +
    'pass the Host header on (nginx: proxy_set_header Host $host). Without a proxy, it is a scanner or a health check that ' +
    'uses the IP address, and there is nothing to do.',
  host_not_listed: () =>
    'The host is not one of https: { hosts }: add the name that the subscription delivers to. The host is taken from the ' +
    'Host header, or from X-Forwarded-Host if a trusted proxy sets it.',
  header_missing: (d: { header: string }) =>
    `The subscription's header ${d.header} is missing or different: compare the option headers with the ` +
    'headers of the subscription.',
  signature_missing: (pinned?: string) =>
    'There is no signature in the header of the scheme that is set or pinned: is signing enabled for the subscription? If ' +
    'another header has one, find out with ringback signature detect how deliveries are signed, and set signature. An ' +
    `unsigned subscription needs the option headers instead of secrets.${orPinned(pinned)}`,
  signature_malformed: (pinned?: string) =>
    "The signature header can't be parsed in the scheme that is set or pinned: find out with ringback signature detect how " +
    `deliveries are signed, and set signature.${orPinned(pinned)}`,
  timestamp_missing: (pinned?: string) =>
    'The scheme requires a signed time, and the delivery has none: find out with ringback signature detect how ' +
    `deliveries are signed, and set signature.${orPinned(pinned)}`,
  signature_mismatch: (pinned?: string) =>
    'The signature was made with another secret or scheme, or the body was changed on the way: compare the ' +
    `secret, and check that no proxy or body parser rewrites the body.${orPinned(pinned)}`,
  timestamp_unreadable: (pinned?: string) =>
    "The signed time can't be read as a time: find out with ringback signature detect how deliveries are signed, " +
    `and set signature.${orPinned(pinned)}`,
  timestamp_out_of_tolerance: () =>
    'The signature is correct, but its time is too far from ours: check the clock of this machine, or raise tolerance.',
  body_already_parsed: (found?: 'text' | 'answer') => alreadyParsed[found ?? 'nothing'],
  media_type_not_json: () =>
    'The Content-Type is not JSON, but deliveries are application/json: was something else sent to this path, or ' +
    'does a proxy change the header?',
  content_encoded: () =>
    'The body is compressed, but the signature covers the bytes that the platform sends: switch off request compression in ' +
    'the proxy.',
  declared_length: (d: { limit: number }) => tooLarge(d.limit),
  body_too_large: (d: { limit: number }) => tooLarge(d.limit),
} as const;

function tooLarge(limit: number): string {
  return `The body is larger than ${limit} bytes: if it may be a genuine delivery, allow more with limits: { body: … }.`;
}

/** A test event may have pinned a scheme in which the platform doesn't sign. */
function orPinned(scheme: string | undefined): string {
  if (scheme === undefined) return '';
  return (
    ` Or the platform doesn't sign in the scheme ${scheme}, which an earlier event has pinned: move the pin with ` +
    'ringback inbox reverify, remove it with ringback signature unpin, or set signature.'
  );
}

/** What to do about a body that is the JSON of a Buffer, which supertest and superagent make of bytes. */
export const jsonOfBufferFix =
  'The body is the JSON of a Buffer instead of its bytes, as supertest sends a Buffer whose Content-Type is JSON: send its ' +
  'text, with send(body.toString()).';

type FixReason = keyof typeof fixes;

/**
 * Thrown by a stage of the intake to refuse a delivery. `reason` and `fix` go only to the log: they would tell an
 * attacker what to change.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly reason: string;
  readonly fix: string | undefined;
  /** The delivery's number in quarantine, if it is there. */
  readonly quarantineId: number | undefined;

  constructor(code: RefusalCode, reason: string, fix?: string, quarantineId?: number) {
    super(`${code}: ${reason}`);
    this.code = code;
    this.reason = reason;
    this.fix = fix;
    this.quarantineId = quarantineId;
  }

  fixedBy(fix: string): Refusal {
    return new Refusal(this.code, this.reason, fix, this.quarantineId);
  }

  keptAs(quarantineId: number): Refusal {
    return new Refusal(this.code, this.reason, this.fix, quarantineId);
  }
}

export function refusal<Reason extends FixReason>(
  code: RefusalCode,
  reason: Reason,
  ...details: Parameters<(typeof fixes)[Reason]>
): Refusal {
  return new Refusal(code, reason, (fixes[reason] as (...details: readonly unknown[]) => string)(...details));
}
