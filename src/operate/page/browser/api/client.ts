/** Requests to the API, which is mounted below the page. */

/** An error: an answer of the API, or the lack of one. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /**
   * Whether it is unknown what has become of a request: nothing answered, a proxy or the database failed, or the
   * receiver was stopped. Trying again later helps.
   */
  get isUnknown(): boolean {
    return (
      this.status === 0 ||
      (this.status >= 500 && /^(?:no_answer$|receiver_not_started$|database_)/.test(this.code))
    );
  }
}

/** Converts an error to a refusal. `ifUnknown` is added to the message if it is unknown what has become of the request. */
export function refusalOf(error: unknown, ifUnknown?: string): Refusal {
  const refusal = error instanceof Refusal ? error : new Refusal(0, 'unknown', String(error));
  if (ifUnknown === undefined || !refusal.isUnknown) return refusal;
  return new Refusal(refusal.status, refusal.code, `${refusal.message} ${ifUnknown}`);
}

/** An answer, and its ETag for later requests. */
export interface Answer<T> {
  readonly data: T;
  readonly tag: string | undefined;
}

/** The timeout of a GET, in milliseconds: over a dead connection no answer ever comes. */
const maxWait = 30_000;
/** The timeout of a change, which may take long: one of them checks the whole quarantine. */
const maxChangeWait = 120_000;

/** The answer to a GET. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return jsonOf<T>(await ask(path, { signal: abortedAfter(maxWait, signal) }));
}

/** The same with its ETag; undefined if that is still `tag`. */
export async function getUnlessSame<T>(
  path: string,
  tag: string | undefined,
  signal: AbortSignal,
): Promise<Answer<T> | undefined> {
  const response = await ask(path, {
    ...(tag !== undefined && { headers: { 'if-none-match': tag } }),
    signal: abortedAfter(maxWait, signal),
  });
  if (response.status === 304) return undefined;
  return { data: await jsonOf<T>(response), tag: response.headers.get('etag') ?? undefined };
}

/** Makes a change. */
export async function change<T>(
  path: string,
  {
    method = 'POST',
    body,
    signal,
  }: {
    readonly method?: 'POST' | 'DELETE';
    readonly body?: unknown;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<T> {
  const response = await ask(path, {
    method,
    headers: {
      // Body parsers refuse an empty body of this type.
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: abortedAfter(maxChangeWait, signal),
  });
  return jsonOf<T>(response);
}

function abortedAfter(timeout: number, signal: AbortSignal | undefined): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(timeout), ...(signal ? [signal] : [])]);
}

/** A segment of a path, encoded so that it stays one. The browser would resolve `.` and `..`. */
export function pathOf(id: string | number): string {
  return `/${encodeURIComponent(id).replace(/^~*\.{1,2}$/, '~$&')}`;
}

/** A path with its query; empty values are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

/** A search for something rare in millions of events may exceed the timeout. */
function adviceFor(path: string, { method }: RequestInit): string {
  return method === undefined && /^\/(?:events|calls)\?/.test(path) ? ' A narrower search takes less.' : '';
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  // Changes and looks at bodies need it: a page of another site can't send it.
  const headers = new Headers(init.headers);
  headers.set('x-ringback-request', '1');
  let response: Response;
  try {
    response = await fetch(`api${path}`, { ...init, headers, cache: 'no-store', redirect: 'manual' });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    throw isLate
      ? new Refusal(0, 'late', `The receiver has not answered in time.${adviceFor(path, init)}`)
      : new Refusal(0, 'unreachable', 'The receiver does not answer.');
  }
  if (isOfAnother(response))
    throw new Refusal(
      401,
      'not_ours',
      'Something other than the receiver answered: you may have to log in again.',
    );
  if (response.ok || response.status === 304) return response;
  throw await refusalIn(response);
}

/** Whether the answer is a redirect to a login, or its form: the receiver never redirects, and answers only JSON. */
function isOfAnother({ type, ok, headers }: Response): boolean {
  return type === 'opaqueredirect' || (ok && headers.get('content-type')?.includes('json') !== true);
}

/** The JSON of an answer, which may arrive incomplete. */
async function jsonOf<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch {
    throw new Refusal(0, 'cut', 'The answer of the receiver was cut off.');
  }
}

/** The refusal of the receiver, or of something in front of it, such as the login of the app. */
async function refusalIn(response: Response): Promise<Refusal> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as { readonly error: Partial<Record<string, unknown>> };
    const { code, message } = error;
    if (typeof code === 'string' && typeof message === 'string') return new Refusal(status, code, message);
  } catch {
    // It has no JSON, or JSON of another form.
  }
  return new Refusal(status, 'no_answer', `Something in front of the receiver answered with ${status}.`);
}
