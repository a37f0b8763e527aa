import { BodyReadBefore, readBounded } from '../../kit/http-bodies.ts';
import { ApiProblem } from './problem.ts';

/** The largest body of a request, in bytes; requests need far less. */
const maxBytes = 64 * 1024;

/** Reads a request's body as JSON; `{}` without a body. Stops reading beyond `maxBytes`. */
export async function readJson(request: Request): Promise<unknown> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  const isJson = type.trim().toLowerCase() === 'application/json';
  if (!isJson && type.trim() !== '') throw notJson();
  const text = await textOf(request);
  if (text === '') return {};
  if (!isJson) throw notJson();
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable();
  }
}

function notJson(): ApiProblem {
  return new ApiProblem(415, 'body_invalid', 'The body should be JSON, with content-type: application/json.');
}

function unreadable(): ApiProblem {
  return new ApiProblem(400, 'body_invalid', 'The body should be JSON in UTF-8, and arrive completely.');
}

function readBefore(): ApiProblem {
  return new ApiProblem(
    500,
    'body_already_parsed',
    'The app has read the body before the API could: make it set `body` of the node:http request to what it has read, or ' +
      'read a clone of the Request.',
  );
}

async function textOf(request: Request): Promise<string> {
  // A body that was iterated to its end would be read as an empty one, and a dry run would then change something.
  if (request.bodyUsed) throw readBefore();
  try {
    const bytes = await readBounded(request.body, maxBytes);
    if (bytes) return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw error instanceof BodyReadBefore ? readBefore() : unreadable();
  }
  throw new ApiProblem(413, 'body_too_large', `The body should be at most ${maxBytes} bytes.`);
}
