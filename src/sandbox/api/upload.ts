import type { IncomingMessage } from 'node:http';
import { importOptional } from '../../errors/optional-package.ts';
import { ConfigError } from '../../errors/errors.ts';
import { ApiError, type Issue, invalidRequest } from './route.ts';

export interface Upload {
  readonly name: string;
  readonly contentType: string | undefined;
  /** In bytes. */
  readonly size: number;
  /** Undefined if it has more than `maxKept` bytes: it is only counted. */
  readonly content: Buffer | undefined;
}

const maxKept = 20 * 1024 * 1024;
/** Where the sandbox stops reading a file. */
const maxRead = 1024 ** 3;

/** Reads the file in the field `file` of a form, a name that is the sandbox's choice. @throws ApiError `invalid` */
export async function readUpload(request: IncomingMessage): Promise<Upload> {
  const parser = await parserFor(request);
  const { promise, resolve, reject } = Promise.withResolvers<Upload>();
  const refuse = (issue: Omit<Issue, 'loc'>, loc: Issue['loc'] = ['body', 'file']) =>
    reject(invalidRequest({ loc, ...issue }));
  const refuseForm = () => refuse({ msg: 'Should be multipart/form-data', type: 'unreadable' }, ['body']);
  parser.on('file', (field, stream, { filename, mimeType }) => {
    stream.on('error', refuseForm);
    if (field !== 'file') {
      stream.resume();
      return;
    }
    const kept: Buffer[] = [];
    let size = 0;
    stream.on('data', (bytes: Buffer) => {
      size += bytes.byteLength;
      if (size > maxKept) kept.length = 0;
      else kept.push(bytes);
    });
    stream.on('limit', () => refuse({ msg: `Should have at most ${maxRead} bytes`, type: 'too_long' }));
    stream.on('end', () => {
      const content = size > maxKept ? undefined : Buffer.concat(kept);
      // Busboy reports a part without a name as a field, not as a file.
      resolve({ name: filename ?? 'unnamed', contentType: mimeType, size, content });
    });
  });
  parser.on('error', refuseForm);
  parser.on('close', () => refuse({ msg: 'Should be given', type: 'missing' }));
  // A client that leaves midway ends the request, but not the parser.
  request.on('close', () => {
    if (!request.complete) refuse({ msg: 'Should arrive whole', type: 'unreadable' }, ['body']);
  });
  request.pipe(parser);
  // Reads the rest of the form unparsed: unread bytes would block the connection's next request.
  return promise.finally(() => request.unpipe(parser).resume());
}

async function parserFor(request: IncomingMessage) {
  const { default: busboy } = await importOptional(
    'busboy',
    'uploads to the sandbox',
    () => import('busboy'),
  ).catch((error: unknown) => {
    throw error instanceof ConfigError ? new ApiError('unavailable', error.message) : error;
  });
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      limits: { fileSize: maxRead },
    });
  } catch {
    const msg = 'Should be multipart/form-data with a file, and the Content-Type should say so';
    throw invalidRequest({ loc: ['body'], msg, type: 'content_type' });
  }
}
