import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** The status for a request that is not valid HTTP, by the parser's error code; 400 for any other code. */
const statuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** Answers a request that can't be read as HTTP, in the form of the general errors, and closes the connection. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? 400;
  const body = JSON.stringify({ error: 'bad_request', message: 'This could not be read as an HTTP request' });
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'connection: close',
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
}
