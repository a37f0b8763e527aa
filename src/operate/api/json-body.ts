import { ApiProblem } from './problem.ts';

/** How large the body of a request may be, in bytes: what is asked fits into far less. */
const maxBytes = 64 * 1024;

/** The JSON of a request's body. It is read no further than it may be large. */
export async function readJson(request: Request): Promise<unknown> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    throw new ApiProblem(
      415,
      'body_invalid',
      'The body should be JSON, with content-type: application/json.',
    );
  try {
    return JSON.parse(await textOf(request));
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem(400, 'body_invalid', 'The body should be JSON, in UTF-8, and come to its end.');
  }
}

async function textOf(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new ApiProblem(413, 'body_too_large', `The body should be at most ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}
