import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { readBounded } from '../../kit/read-bounded.ts';
import { requestLoopback } from './loopback-request.ts';
import { WebsiteProblem } from './website-problem.ts';

/** The most bytes of one document, packed and unpacked: a few kilobytes can unpack to gigabytes. */
const mostBytes = 10 * 1024 * 1024;
const mostRedirects = 3;

const unzip = promisify(gunzip);

/** Reads the documents of one website, which is one origin: redirects to other origins are not followed. */
export class Website {
  readonly origin: string;
  readonly #signal: AbortSignal;

  /** @param signal Ends whatever is being read. */
  constructor(address: URL, signal: AbortSignal) {
    this.origin = address.origin;
    this.#signal = signal;
  }

  /**
   * The text of a document, unpacked if it is packed with gzip. Undefined when there is nothing to read: another
   * status than 200, a redirect to another origin, too many redirects or bytes, a broken archive.
   *
   * @throws WebsiteProblem when the website does not answer, or is not on loopback
   */
  async read(address: URL): Promise<string | undefined> {
    let url = address;
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      if (url.origin !== this.origin) return undefined;
      const answer = await this.#answerOf(url);
      const { statusCode = 0, headers } = answer;
      if (statusCode === 200) return textIn(answer);
      answer.destroy();
      const target =
        statusCode >= 300 && statusCode < 400 ? URL.parse(headers.location ?? '', url.href) : null;
      if (!target) return undefined;
      url = target;
    }
    return undefined;
  }

  async #answerOf(url: URL): Promise<IncomingMessage> {
    try {
      return await requestLoopback(url, this.#signal);
    } catch (error) {
      throw error instanceof WebsiteProblem ? error : new WebsiteProblem('unreachable');
    }
  }
}

/** The text of an answer; undefined when it breaks off, is too long, or can't be unpacked. */
async function textIn(answer: IncomingMessage): Promise<string | undefined> {
  try {
    const bytes = await readBounded(answer, mostBytes);
    const isPacked = bytes?.[0] === 0x1f && bytes[1] === 0x8b;
    const unpacked = isPacked ? await unzip(bytes, { maxOutputLength: mostBytes }) : bytes;
    return unpacked && new TextDecoder().decode(unpacked);
  } catch {
    return undefined;
  }
}
