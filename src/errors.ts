/**
 * Everything that can go wrong by name, in two tables: what the sender is told (refusals: a code and a
 * status, never a reason) and what the user is told (problems: a sentence that says what was expected, what
 * was found, and what to do).
 */

/** What the sender of a delivery can be answered instead of 200. Their statuses live here and nowhere else. */
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

/**
 * Why a delivery was refused, for the log only, and what its user can do about it where the cause may be
 * their own set-up. The first refusal of each kind logs that sentence.
 */
export const fixes = {
  not_open: () =>
    'The receiver has never been started, so it takes no delivery: call await receiver.start() once its handlers ' +
    'are registered.',
  proxy_not_trusted: (d: { peer: string }) =>
    `The peer ${d.peer} says https, but is not a trusted proxy: set https: { trustProxy }, for example to 'loopback' ` +
    '(--trust-proxy loopback).',
  not_https: (d: { peer: string }) =>
    `The peer ${d.peer} sent a delivery over plain HTTP: serve HTTPS, or put a TLS proxy in front that sets ` +
    'X-Forwarded-Proto and name it in https: { trustProxy } (--trust-proxy). For development on loopback set ' +
    'https: { required: false } (--insecure-http).',
  proxy_silent: (d: { peer: string }) =>
    `The trusted proxy ${d.peer} did not say whether the client came over HTTPS: let it set X-Forwarded-Proto ` +
    '(nginx: proxy_set_header X-Forwarded-Proto $scheme).',
  proxy_says_http: (d: { peer: string }) =>
    `The trusted proxy ${d.peer} says that the client came over plain HTTP: serve HTTPS there. If another proxy in front ` +
    'of it ends TLS, let that one set X-Forwarded-Proto, and this one pass it on.',
  https_contradicted: (d: { peer: string }) =>
    `The trusted proxy ${d.peer} sent headers that contradict each other on http or https: make it overwrite ` +
    "X-Forwarded-Proto and Forwarded instead of passing the client's on.",
  host_is_address: () =>
    'The Host header is an IP address, but the platform delivers to domain names only. Behind a proxy, let it ' +
    'pass the Host header on (nginx: proxy_set_header Host $host).',
  host_not_listed: () =>
    'The Host header is not one of https: { hosts }: add the name that the subscription delivers to.',
  header_missing: (d: { header: string }) =>
    `The subscription's header ${d.header} is missing or different: compare the option headers with the ` +
    'headers of the subscription.',
  signature_missing: (pinned?: string) =>
    'There is no signature header: is signing enabled for the subscription? An unsigned subscription needs ' +
    `the option headers instead of secrets.${orPinned(pinned)}`,
  signature_malformed: (pinned?: string) =>
    "The signature header can't be read in the layout that counts: find out with ringback signature detect how " +
    `deliveries are signed, and set signature.${orPinned(pinned)}`,
  timestamp_missing: (pinned?: string) =>
    'The layout that counts signs a time, and the delivery has none: find out with ringback signature detect how ' +
    `deliveries are signed, and set signature.${orPinned(pinned)}`,
  signature_mismatch: (pinned?: string) =>
    'The signature was made with another secret or layout, or the body was changed on its way: compare the ' +
    `secret, and check that no proxy or body parser rewrites the body.${orPinned(pinned)}`,
  timestamp_unreadable: (pinned?: string) =>
    "The signed time can't be read as a time: find out with ringback signature detect how deliveries are signed, " +
    `and set signature.${orPinned(pinned)}`,
  timestamp_out_of_tolerance: () =>
    'The signature is right but its time is too far from ours: check the clock of this machine, or widen tolerance.',
  body_already_parsed: () =>
    'A body parser in front of the receiver consumed the raw bytes, which are what is signed: mount the ' +
    "receiver before express.json(), or keep the bytes with express.json({ limit: '5mb', verify: (req, _res, " +
    'buffer) => Object.assign(req, { rawBody: buffer }) }).',
  media_type_not_json: () =>
    'The Content-Type is not JSON, and deliveries are application/json: has something else been sent to this path, or ' +
    'does a proxy change the header?',
  content_encoded: () =>
    'The body is compressed, and the signature is over the bytes that the platform sends: let no proxy compress requests.',
  declared_length: (d: { limit: number }) => tooLarge(d.limit),
  body_too_large: (d: { limit: number }) => tooLarge(d.limit),
} as const;

function tooLarge(limit: number): string {
  return `The body is larger than ${limit} bytes: if it may be a genuine delivery, allow more with limits: { body: … }.`;
}

/** A delivery that somebody sent as a test may have pinned a layout that the platform doesn't sign in. */
function orPinned(layout: string | undefined): string {
  if (layout === undefined) return '';
  return (
    ` Or the platform doesn't sign in the layout ${layout}, which an earlier delivery has pinned: let it go with ` +
    'ringback signature unpin, or set signature.'
  );
}

/** A reason that comes with a fix. */
export type FixReason = keyof typeof fixes;

/**
 * Thrown by a stage of the intake to end a delivery. `reason` and `fix` go to the log only: a sender that is
 * told why it was refused learns how to do better.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly reason: string;
  readonly fix: string | undefined;

  constructor(code: RefusalCode, reason: string, fix?: string) {
    super(`${code}: ${reason}`);
    this.code = code;
    this.reason = reason;
    this.fix = fix;
  }
}

/** A refusal whose reason comes with a fix. */
export function refusal<Reason extends FixReason>(
  code: RefusalCode,
  reason: Reason,
  ...details: Parameters<(typeof fixes)[Reason]>
): Refusal {
  return new Refusal(code, reason, (fixes[reason] as (...details: readonly unknown[]) => string)(...details));
}

/** What the methods that register a handler expect. */
const registrations = {
  on: 'on(names, [options], handler) expects one or more event names and a function',
  onCall: 'onCall(options, handler) expects the options of a join and a function',
  fallback: 'fallback(handler) expects a function',
} as const;

/** What a user can be told. Each entry turns details into one sentence. */
const problems = {
  option_invalid: (d: { option: string; expected: string; found: string; fix?: string }) =>
    `The option ${d.option} should be ${d.expected}, but is ${d.found}.${d.fix === undefined ? '' : ` ${d.fix}`}`,
  option_unknown: (d: { option: string; where: string; meant: string | undefined; known: string }) =>
    `There is no option ${d.option} in ${d.where}.` +
    (d.meant === undefined ? ` The options are: ${d.known}.` : ` Did you mean ${d.meant}?`),
  credentials_missing: () =>
    'A receiver needs something to tell the platform by, but neither secrets nor headers is set. ' +
    "Pass secrets with the subscription's signing secret (it starts with whsec_), or headers with the " +
    "subscription's own headers if it is unsigned.",
  secrets_missing: (d?: { fileOption: string }) =>
    `This command needs the subscription's signing secret, but neither ${d ? `${d.fileOption} nor ` : ''}` +
    'RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set. Set RINGBACK_SECRETS to the secret that the platform ' +
    'returned when signing was enabled (it starts with whsec_), or ' +
    `${d ? `${d.fileOption} or ` : ''}RINGBACK_SECRETS_FILE to a file that holds it.`,
  secret_malformed: (d: { position: number; found: string; file?: string | undefined }) =>
    `Secret ${d.position}${d.file === undefined ? '' : ` in the secrets file ${d.file}`} should be a signing secret ` +
    `that starts with whsec_ and has something after it, but it ${d.found}. Copy the whole secret that the platform ` +
    'returned when signing was enabled.',
  secrets_unavailable: (d: { cause: string }) =>
    `The secrets function should return a secret or a list of secrets, but it failed: ${d.cause.replace(/\.$/, '')}. ` +
    'Make it return the last known secrets when its source is down.',
  handler_duplicate: (d: { name: string }) =>
    `A handler named "${d.name}" is already registered, and a name must belong to one handler because runs ` +
    'are remembered by it. Give one of the two another name: on(names, { name: "…" }, handler).',
  handler_too_late: (d: { name: string }) =>
    `The handler "${d.name}" was registered after start(), when stored events may already have been ` +
    'dispatched without it. Register every handler before start().',
  handler_invalid: (d: { method: keyof typeof registrations; found: string; fix?: string }) =>
    `${registrations[d.method]}, but found ${d.found}.${d.fix === undefined ? '' : ` ${d.fix}`}`,
  fallback_duplicate: () =>
    'A fallback is already registered, and there can be only one. Put both pieces of work into one function.',
  receiver_started: (d?: { app: string }) =>
    d === undefined
      ? 'start() has been called before, and a receiver starts once. Remove the second call, or await the first.'
      : `The app file ${d.app} should only register handlers, but it calls start(), and \`ringback serve\` starts ` +
        'the receiver. Leave start() out of the app file.',
  receiver_stopped: () =>
    'The receiver has been stopped and cannot be started again. Create a new one with createReceiver().',
  adapter_not_called: (d: { method: string }) =>
    `receiver.${d.method}() should be called once, where it is mounted, but a request came to it. ` +
    `Write receiver.${d.method}(), with the parentheses.`,
  receiver_not_started: (d: { method: string }) =>
    `${d.method} should be called while the receiver runs, but it is not started or has been stopped. ` +
    'Call it after await receiver.start() and before receiver.stop().',
  handler_unknown: (d: { name: string; meant: string | undefined; known: string }) =>
    `The handler "${d.name}" should be registered before its runs are replayed, but it is not.` +
    (d.meant === undefined ? ` The handlers are: ${d.known || 'none'}.` : ` Did you mean "${d.meant}"?`),
  handler_registered: (d: { name: string }) =>
    `The handler "${d.name}" should be gone before its open runs are dismissed, but it is registered here and will run ` +
    "them. To dismiss its dead letters, say state: 'dead'; to end its open runs, let it throw Discard, or remove it first.",
  event_unknown: (d: { traceId: string; database: string }) =>
    `There should be an event with the trace id "${d.traceId}" in ${d.database}, but there is none: it may have been ` +
    'removed after its time. Look with ringback inbox events --trace-id and a part of it.',
  quarantine_unknown: (d: { id: number }) =>
    `There should be a delivery ${d.id} in quarantine, but there is none: it may have been released, discarded ` +
    'or dropped since. Look with ringback inbox quarantine, or quarantine.list().',
  release_not_authentic: (d: { id: number; reason: string }) =>
    `The delivery ${d.id} should verify under the present secrets and layouts, as of its arrival, before it is ` +
    `released, but it does not: ${d.reason}. Set the secret that signed it, or discard it.`,
  release_unreadable: (d: { id: number; reason: string }) =>
    `The delivery ${d.id} should be readable as an event before it is released, but it is not: ${d.reason}. ` +
    `Look at its body with ringback inbox delivery ${d.id}, or quarantine.get(${d.id}), then discard it.`,
  database_not_offered: (d: { database: string }) =>
    `receiver.database should be the connection of the inbox, but the store ${d.database} has none to give. ` +
    'Use a connection of your own for your tables.',
  transaction_left_open: () =>
    "A transaction was begun on the inbox's connection and left open, so nothing can be stored safely. " +
    'Use receiver.database.transaction(() => { … }), and no begin, commit or rollback of your own.',
  commit_repeated: () =>
    'ctx.commit should be called once in a run, but this is the second call, and nothing of it was written. ' +
    'Put all effects into one.',
  commit_asynchronous: () =>
    'ctx.commit expects a synchronous function, but this one returned a promise, so nothing was committed. ' +
    'Await what you need first, then write everything inside ctx.commit without await.',
  commit_too_late: () =>
    'ctx.commit should be called while the attempt lasts and this process holds the run, but either is over, so ' +
    'nothing was committed: another attempt does it. Commit before the deadline, and within the handler.',
  node_too_old: (d: { found: string }) =>
    `Ringback needs Node 22.14 or later (Node-API 10), but runs on Node ${d.found}, where its database ` +
    'driver would end the process. Install a current Node.',
  database_unreadable: (d: { database: string; cause: string }) =>
    `The database ${d.database} should be a SQLite file that this process can read and write, but: ${d.cause}. ` +
    'Check the path and its permissions, or set another database.',
  database_newer: (d: { database: string; found: number; expected: number }) =>
    `The database ${d.database} has schema ${d.found}, but this version of Ringback knows schemas up to ` +
    `${d.expected}: a newer version wrote it. Run that version or a later one, or use another database.`,
  port_in_use: (d: { host: string; port: number }) =>
    `The server should listen on ${d.host}:${d.port}, but that port is in use. ` +
    'Stop the other process, or choose another port (--port, or the option port).',
  listen_failed: (d: { host: string; port: number; cause: string }) =>
    `The server should listen on ${d.host}:${d.port}, but could not: ${d.cause}. ` +
    'Check the host and the port: --host and --port, or their variables.',
  app_unloadable: (d: { file: string; cause: string }) =>
    `The app file ${d.file} should be a JavaScript or TypeScript module that loads, but: ${d.cause}. ` +
    'Check the path, then the module itself.',
  app_no_default: (d: { file: string; found: string }) =>
    `The app file ${d.file} should have a default export of the form (receiver) => void, but ${d.found}. ` +
    'Write: export default (receiver) => { receiver.on(…) }.',
  secrets_file_unreadable: (d: { file: string; cause: string }) =>
    `The secrets file ${d.file} should hold one signing secret a line (or separated by commas), but: ` +
    `${d.cause}. Check the path, which may be set by RINGBACK_SECRETS_FILE, and the permissions of the file.`,
  fixture_unknown: (d: { fixture: string; known: string }) =>
    `${d.fixture} should be a fixture's name or a JSON file, but it is neither. The fixtures are: ${d.known}.`,
  delivery_unsent: (d: { url: string; cause: string }) =>
    `The delivery should reach ${d.url}, but: ${d.cause}. Check that a receiver listens there.`,
  seed_invalid: (d: { place: string; expected: string }) =>
    `In the seed, ${d.place} should be ${d.expected}, but is not. What a seed looks like is in docs/sandbox.md ` +
    'and in schemas/sandbox-seed.schema.json.',
  seed_unreadable: (d: { file: string; cause: string }) =>
    `The seed file ${d.file} should be a JSON file that this process can read, but: ${d.cause}. ` +
    'Check the path and the file; what a seed looks like is in docs/sandbox.md.',
  sandbox_not_running: (d: { method: string }) =>
    `${d.method} should be used while the sandbox runs, but it is not started or has been stopped. ` +
    'Use it after await sandbox.start() and before sandbox.stop().',
  sandbox_started: () =>
    'start() has been called before, and a sandbox starts once. Create another with createSandbox().',
  tool_unregistered: (d: { agentId: string; toolId: string }) =>
    `The agent "${d.agentId}" should have a custom tool "${d.toolId}" before it is called, but it has none. ` +
    "Register it with the client's customTools.create(), and compare both ids.",
  capture_unreadable: (d: { file: string; cause: string }) =>
    `The captured request ${d.file} should be a file with the request line, the headers, a blank line and the exact ` +
    `bytes of the body, but: ${d.cause}. Save the request as it came over the wire.`,
  body_unreadable: (d: { file: string; cause: string }) =>
    `The file ${d.file} should hold the body to sign, but: ${d.cause}. Check the path and its permissions.`,
  condition_not_met: (d: { waited: number; state: string }) =>
    `The event should have been handled within ${d.waited} ms, but ${d.state}. ` +
    "Look at what the handler waits for, or allow more time, as with { within: '10s' }.",
  update_unsafe: (d: { cause: string; fix: string }) =>
    'An update should send every field of the subscription back, because what is left out is cleared, but ' +
    `${d.cause}. Nothing was changed. ${d.fix}`,
  secret_file_unwritable: (d: { file: string; cause: string }) =>
    `The file ${d.file} should be able to take a new signing secret, but: ${d.cause}. Nothing was asked of the ` +
    'platform. Check the path, and that this process may write the file and its folder.',
  secret_not_kept: (d: { cause: string }) =>
    `The platform has issued a new signing secret, which it shows only once, but it could not be kept: ${d.cause}. ` +
    'The secret is in error.secret.reveal(): store it now, or rotate it once the cause is put right.',
} as const;

/** The code of a problem, for programs; the message is for people. */
export type ProblemCode = keyof typeof problems;

/** An error that names what the user can mend: a wrong option, an unreadable database, a port in use. */
export class RingbackError extends Error {
  override readonly name: string = 'RingbackError';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A `RingbackError` about how the receiver was set up. Nothing is running yet when it is thrown. */
export class ConfigError extends RingbackError {
  override readonly name = 'ConfigError';
}

type Details<Code extends ProblemCode> = Parameters<(typeof problems)[Code]>;

/** A ConfigError with the sentence of the table. */
export function configError<Code extends ProblemCode>(code: Code, ...details: Details<Code>): ConfigError {
  const error = new ConfigError(code, sentence(code, details));
  Error.captureStackTrace(error, configError);
  return error;
}

/** A RingbackError with the sentence of the table. */
export function ringbackError<Code extends ProblemCode>(
  code: Code,
  ...details: Details<Code>
): RingbackError {
  const error = new RingbackError(code, sentence(code, details));
  Error.captureStackTrace(error, ringbackError);
  return error;
}

/**
 * Does the work of a public function, `called` of `owner`. A problem that it throws has a stack that begins where that function was
 * called: the line to mend is the user's, not one of ours.
 */
export function blameCaller<Owner extends object, Result>(
  owner: Owner,
  called: keyof Owner,
  work: () => Result,
): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof RingbackError) Error.captureStackTrace(error, owner[called] as () => unknown);
    throw error;
  }
}

/** Every code a user can meet, for the documents and the test that compares them. */
export const problemCodes = Object.keys(problems) as ProblemCode[];

function sentence(code: ProblemCode, details: readonly unknown[]): string {
  return (problems[code] as (...details: readonly unknown[]) => string)(...details);
}
