import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { discoverLinks } from '../websites/discover-links.ts';
import { WebsiteProblem } from '../websites/website.ts';
import { validated } from './request.ts';
import { type ApiAnswer, type Route, routesOf } from './route.ts';

export interface WebsiteParts {
  /** The name of the query parameter that carries the website's address, which the document doesn't show. */
  readonly websiteParameter: string;
  /** Which hosts discovery may look at besides those on loopback. */
  readonly websiteHosts: readonly string[];
  /** Ends a lookup of a website that takes too long. */
  readonly clock: Clock;
}

const maxAddressLength = 2_048;

/** An http or https address that a client names. */
export const addressSchema = z
  .url({ protocol: /^https?$/, error: 'Should be an http or https address' })
  .max(maxAddressLength, `Should have at most ${maxAddressLength} characters`);

/** The two error bodies of the document, whose statuses and codes it doesn't show: a choice of the sandbox. */
const problems: Readonly<Record<WebsiteProblem['kind'], ApiAnswer>> = {
  not_allowed: {
    status: 400,
    body: {
      error: 'website_not_allowed',
      message:
        'The sandbox looks only at websites on loopback, such as http://127.0.0.1:8080, and on the hosts of its option websiteHosts',
    },
  },
  unreachable: {
    status: 404,
    body: { error: 'website_unreachable', message: 'The website does not answer' },
  },
};

/** The websites that a knowledge base may be filled from (platform document, GET sitemaps). */
export function websiteRoutes(parts: WebsiteParts): readonly Route[] {
  // The parameter's name is only known at run time, so the type doesn't have it.
  const querySchema = z
    .object({ [parts.websiteParameter]: addressSchema })
    .transform((query) => new URL(query[parts.websiteParameter] as string));
  return [
    routesOf('websites', 'knowledge-base')(
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
