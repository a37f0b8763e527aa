import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { listening } from '../support/servers.ts';

/** One request that a destination got. */
export interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The body as JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** How a destination answers: with a status, or with a function that writes the response. */
export type Answering = (
  received: Received,
  index: number,
) => number | ((response: ServerResponse) => unknown);

/** A server for a subscription's deliveries, which keeps the requests that it gets. */
export interface Destination {
  readonly url: string;
  readonly received: readonly Received[];
}

/** Listens on loopback until the test ends; answers 200 unless told otherwise. */
export async function destination(answer: Answering = () => 200): Promise<Destination> {
  const received: Received[] = [];
  const port = await listening((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const { method, headers } = request;
      const got = { method, headers, bytes, json: jsonOf(bytes) };
      received.push(got);
      const answered = answer(got, received.length - 1);
      if (typeof answered === 'number') response.writeHead(answered).end();
      else answered(response);
    });
  });
  return { url: `http://127.0.0.1:${port}/calls`, received };
}

/** A body that is not a JSON object becomes an object without fields; tests look at the bytes of such rubbish. */
function jsonOf(bytes: Buffer): Received['json'] {
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return typeof json === 'object' && json !== null ? { ...json } : {};
  } catch {
    return {};
  }
}

/** The values of a header, one for each request. */
export function headersNamed(received: readonly Received[], name: string): readonly string[] {
  return received.map(({ headers }) => String(headers[name]));
}
