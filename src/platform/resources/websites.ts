import { z } from 'zod';
import { parseStrictly, signalOption } from '../../errors/option-problems.ts';
import type { CallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { listOf } from '../requests/shapes.ts';

/** The addresses that a website publishes (platform document, WebsiteLinks). */
export interface WebsiteLinks {
  readonly success: boolean;
  readonly links: readonly string[];
  readonly [field: string]: unknown;
}

/** Options of `websites.sitemaps`. */
export interface SitemapOptions extends CallOptions {
  /** The query parameter for the website's address, which isn't in the platform's document. @default 'url' */
  readonly parameter?: string | undefined;
}

const optionsSchema = z.strictObject({
  signal: signalOption,
  parameter: z.string('the name of a query parameter').min(1, 'the name of a query parameter').default('url'),
});
const websiteSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: 'the address of a website, beginning with https:// or http://' }),
});
const linksShape = z.looseObject({
  success: z.boolean(),
  links: listOf(z.string()),
}) satisfies z.ZodType<WebsiteLinks>;

/** Lookups of websites. */
export class Websites {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Finds the addresses in a website's sitemaps. Ingests nothing (platform document, GET sitemaps).
   *
   * @throws ConfigError; PlatformError, for example 422
   * @example const { links } = await platform.websites.sitemaps('https://www.example.com');
   */
  async sitemaps(url: string, options: SitemapOptions = {}): Promise<WebsiteLinks> {
    const operation = 'websites.sitemaps';
    const checked = parseStrictly(websiteSchema, { url }, operation);
    const { parameter, signal } = parseStrictly(optionsSchema, options, operation);
    const path = '/api/v1/knowledge-bases/documents/website/sitemaps';
    const query = { [parameter]: checked.url };
    return this.#connection.send({ operation, method: 'GET', path, query, signal }, linksShape);
  }
}
