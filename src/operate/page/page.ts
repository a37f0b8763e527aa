/** The operators' page: one document with its script and style, and the API that it asks below `api/`. */
import { permissionOf, requireAuthorize } from '../api/access.ts';
import { type ApiHandler, type ApiParts, apiHandler } from '../api/api.ts';
import { assets } from './assets.ts';

/**
 * Nothing is loaded from elsewhere, nothing inline runs, and nobody may frame the page: what an event says stays text even
 * if a fault of the page made it markup.
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
 * The page as a function from a request and its path below the place where it is mounted.
 *
 * @throws ConfigError without `authorize`: nobody may be let in by forgetting it
 */
export function pageHandler(parts: ApiParts): ApiHandler {
  const { authorize, onFailed } = parts;
  requireAuthorize(authorize, 'receiver.page');
  const api = apiHandler(parts);
  return async (request, path, source) => {
    if (path === '/api' || path.startsWith('/api/')) return api(request, path.slice('/api'.length), source);
    try {
      if (!permissionOf(await authorize(request, source)))
        return text(403, 'You may not use this page: authorize has not let you in.');
      return await fileAt(request, path, source);
    } catch (error) {
      onFailed(error);
      return text(500, 'The page could not be given. The log of the receiver says why.');
    }
  };
}

async function fileAt(request: Request, path: string, source: unknown): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'The page is there to be got.');
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
      // A file's name changes with what is in it; the document names them, and is asked for each time.
      'cache-control': isDocument ? 'no-store' : 'private, max-age=31536000, immutable',
    },
  });
}

/**
 * Where the document is when it was asked for without the slash at its end, from which its relative addresses would lead
 * nowhere. The answer is relative as well: a proxy may serve us below another path.
 */
function withSlash(request: Request, source: unknown): string | undefined {
  // Express takes the path that it is mounted at off the URL, with or without the slash.
  const { originalUrl } = (source ?? {}) as { readonly originalUrl?: unknown };
  const url =
    typeof originalUrl === 'string' ? new URL(originalUrl, 'http://localhost') : new URL(request.url);
  if (url.pathname.endsWith('/')) return undefined;
  return `./${url.pathname.slice(url.pathname.lastIndexOf('/') + 1)}/${url.search}`;
}

function text(status: number, message: string): Response {
  return new Response(`${message}\n`, {
    status,
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  });
}
