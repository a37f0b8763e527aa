/** Keeps pages of other sites from using what a browser knows of its user: a session, or the network it is in. */
import { ApiProblem } from './problem.ts';

/**
 * The header that changes, and looks at bodies, must have: a page of another site can't send it without a CORS preflight.
 */
export const changeHeader = 'x-ringback-request';

/** The header alone keeps other sites out; the check of the origin helps if a proxy adds it to all requests. */
export function requireOwnOrigin(request: Request, what: 'A change' | 'A look at a body'): void {
  if (request.headers.has(changeHeader) && !isFromAnotherSite(request)) return;
  throw new ApiProblem(
    403,
    'origin_refused',
    `${what} needs the header ${changeHeader}, with any value, and must not come from another site.`,
  );
}

/**
 * Refuses a stream to a page of another origin. It could not read the stream, but would hold places that the operators'
 * pages need; and a page can't set a header for a stream of events, so none is required.
 */
export function requireOwnStream(request: Request): void {
  if (!isFromAnotherSite(request)) return;
  throw new ApiProblem(403, 'origin_refused', 'The stream of changes must not be opened by another site.');
}

/**
 * Whether a browser says that a page of another site sent the request. Where it doesn't say so itself, as over HTTP
 * without TLS, it says of a change from which origin it comes. Other clients send neither header.
 */
function isFromAnotherSite({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = headers.get('origin');
  return origin !== null && !hostsOf(headers, url).some((host) => isAt(host, origin));
}

/**
 * The hosts under which the browser may know the receiver. A proxy in front may have set another `Host`; a page of another
 * site can't set either header without a CORS preflight, so here no proxy needs to be trusted.
 */
function hostsOf(headers: Headers, url: string): readonly string[] {
  const host = headers.get('host') ?? new URL(url).host;
  const forwarded = headers.get('x-forwarded-host')?.split(',') ?? [];
  return [host, ...forwarded.map((one) => one.trim())];
}

/** Whether an origin is at a host. Its scheme isn't compared, because a proxy may have removed TLS. */
function isAt(host: string, origin: string): boolean {
  const [scheme] = origin.split('//');
  const own = URL.parse(`${scheme}//${host}`);
  return own !== null && own.host === URL.parse(origin)?.host;
}
