/** The operators' page: one document with its script and style, and the API that it uses below `api/`. */
import { askedPermission, requireAuthorize } from '../api/access.ts';
import { type ApiHandler, type ApiParts, apiHandler } from '../api/api.ts';
import { assets } from './assets.ts';

/**
 * Loads nothing from elsewhere, runs no inline scripts and can't be framed: text of an event stays text even if a bug
 * of the page turned it into markup.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * The page as a function of a request and its path below the mount point.
 *
 * @throws ConfigError without `authorize`: forgetting it must let nobody in
 */
export function pageHandler(parts: ApiParts): ApiHandler {
  const { authorize, onFailed } = parts;
  requireAuthorize(authorize, 'receiver.page');
  const api = apiHandler(parts);
  return async (request, path, source) => {
    if (path === '/api' || path.startsWith('/api/')) return api(request, path.slice('/api'.length), source);
    try {
      if (!(await askedPermission(authorize, request, source)))
        return text(403, 'You may not use this page: authorize has not admitted this request.');
      return await fileAt(request, path, source);
    } catch (error) {
      // An abort by a browser that has left is no failure.
      const { aborted, reason } = request.signal;
      if (!(aborted && error === reason)) onFailed(error);
      return text(500, 'The page could not be served. The log of the receiver says why.');
    }
  };
}

async function fileAt(request: Request, path: string, source: unknown): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return text(405, 'The page accepts only GET and HEAD.', { allow: 'GET, HEAD' });
  const isDocument = path === '/' || path === '';
  const target = isDocument ? withSlash(request, source) : undefined;
  if (target !== undefined)
    return new Response(null, { status: 308, headers: { ...headers, location: target } });
  const files = await assets();
  const name = isDocument ? 'index.html' : path.slice(1);
  const asset = name === 'index.html' && !isDocument ? undefined : files.get(name);
  if (!asset) return text(404, 'There is no such file.');
  return new Response(request.method === 'HEAD' ? null : asset.bytes, {
    headers: {
      ...headers,
      'content-type': asset.type,
      // A file's name changes with its content. The document names the files, so it is never cached.
      'cache-control': isDocument ? 'no-store' : 'private, max-age=31536000, immutable',
    },
  });
}

/**
 * The address with a slash at its end if the document was requested without one: its relative addresses would be wrong.
 * The redirect is relative as well, because a proxy may serve the page below another path.
 */
function withSlash(request: Request, source: unknown): string | undefined {
  // Express strips the mount path from the URL, with or without the slash.
  const { originalUrl } = (source ?? {}) as { readonly originalUrl?: unknown };
  const url =
    typeof originalUrl === 'string' ? new URL(originalUrl, 'http://localhost') : new URL(request.url);
  if (url.pathname.endsWith('/')) return undefined;
  return `./${url.pathname.slice(url.pathname.lastIndexOf('/') + 1)}/${url.search}`;
}

function text(status: number, message: string, own: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${message}\n`, {
    status,
    headers: { ...headers, ...own, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  });
}
