import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { discoverLinks } from '../sitemaps/discover-links.ts';
import { WebsiteProblem } from '../sitemaps/website-problem.ts';
import type { ApiAnswer, Route } from './route.ts';
import { validated } from './validation.ts';

/** What the lookup of websites works with. */
export interface WebsiteParts {
  /** The name of the query parameter that carries the website's address, which the document doesn't show. */
  readonly parameter: string;
  /** Ends a lookup that takes too long. It is the real clock: websites don't get faster with the sandbox's `speed`. */
  readonly clock: Clock;
}

const longestAddress = 2_048;

const addressSchema = z
  .url({ protocol: /^https?$/, error: 'Should be an http or https address, given once' })
  .max(longestAddress, `Should have at most ${longestAddress} characters`)
  .transform((address) => new URL(address));

/** The two error bodies of the document, whose statuses and codes it doesn't show: a choice of the sandbox. */
const problems: Readonly<Record<WebsiteProblem['kind'], ApiAnswer>> = {
  not_loopback: {
    status: 400,
    body: {
      error: 'website_not_allowed',
      message: 'The sandbox looks only at websites on loopback, such as http://127.0.0.1:8080',
    },
  },
  unreachable: {
    status: 404,
    body: { error: 'website_unreachable', message: 'The website does not answer' },
  },
};

/**
 * Website URL discovery (platform document, GET sitemaps). Its path begins like that of a knowledge base, so its route
 * comes before that of knowledge bases.
 */
export function websiteRoutes({ parameter, clock }: WebsiteParts): readonly Route[] {
  // The parameter's name is only known at run time, so the type doesn't have it.
  const querySchema = z.object({ [parameter]: addressSchema }).transform((query) => query[parameter] as URL);
  return [
    {
      operation: 'websites.sitemaps',
      method: 'GET',
      path: '/api/v1/knowledge-bases/documents/website/sitemaps',
      errors: 'knowledge-base',
      handle: async ({ query, signal }) => {
        const address = validated(querySchema, query, 'query');
        try {
          const links = await discoverLinks(address, clock, signal);
          return { status: 200, body: { success: true, links } };
        } catch (error) {
          if (error instanceof WebsiteProblem) return problems[error.kind];
          throw error;
        }
      },
    },
  ];
}
