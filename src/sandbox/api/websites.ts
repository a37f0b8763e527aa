import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { discoverLinks } from '../websites/discover-links.ts';
import { WebsiteProblem } from '../websites/website.ts';
import { validated } from './request.ts';
import { type ApiAnswer, type Route, routesOf } from './route.ts';

interface WebsiteParts {
  /** The query parameter for the website's address, which isn't in the platform's document. */
  readonly websiteParameter: string;
  readonly websiteHosts: readonly string[];
  readonly clock: Clock;
}

const maxAddressLength = 2_048;

export const addressSchema = z
  .url({ protocol: /^https?$/, error: 'Should be an http or https address' })
  .max(maxAddressLength, `Should have at most ${maxAddressLength} characters`);

/** The answers to problems; the statuses and codes are the sandbox's choice. */
const problems: Readonly<Record<WebsiteProblem['kind'], ApiAnswer>> = {
  not_allowed: {
    status: 400,
    body: {
      error: 'website_not_allowed',
      message:
        'The sandbox only reads websites on loopback, such as http://127.0.0.1:8080, and on the hosts of its option websiteHosts',
    },
  },
  unreachable: {
    status: 404,
    body: { error: 'website_unreachable', message: 'The website does not answer' },
  },
};

/** The look-up of websites for a knowledge base (platform document, GET sitemaps). */
export function websiteRoutes(parts: WebsiteParts): readonly Route[] {
  // The parameter's name is known only at run time, so the type lacks it.
  const querySchema = z
    .object({ [parts.websiteParameter]: addressSchema })
    .transform((query) => new URL(query[parts.websiteParameter] as string));
  return [
    routesOf('websites', 'general')(
      'sitemaps',
      'GET',
      '/api/v1/knowledge-bases/documents/website/sitemaps',
      (request) => findLinks(validated(querySchema, request.query, 'query'), parts, request.signal),
    ),
  ];
}

async function findLinks(
  website: URL,
  { websiteHosts, clock }: WebsiteParts,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  try {
    const links = await discoverLinks(website, websiteHosts, clock, signal);
    return { status: 200, body: { success: true, links } };
  } catch (error) {
    if (error instanceof WebsiteProblem) return problems[error.kind];
    throw error;
  }
}
