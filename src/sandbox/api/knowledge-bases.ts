import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { KnowledgeBases } from '../knowledge-bases.ts';
import { discoverLinks } from '../sitemaps/discover-links.ts';
import { WebsiteProblem } from '../sitemaps/website.ts';
import { validated } from './request.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, routesOf } from './route.ts';

/** What the operations on knowledge bases work with. */
export interface KnowledgeBaseParts {
  readonly knowledgeBases: KnowledgeBases;
  /** The name of the query parameter that carries the website's address, which the document doesn't show. */
  readonly websiteParameter: string;
  /** Which hosts discovery may look at besides those on loopback. */
  readonly websiteHosts: readonly string[];
  /** Ends a lookup of a website that takes too long. */
  readonly clock: Clock;
}

/**
 * The document has a 422 for a knowledge base, but says that a malformed id is answered as not found. The sandbox
 * therefore answers 422 only for an id that is longer than this, in characters: its own choice.
 */
const maxIdLength = 256;
const maxAddressLength = 2_048;

const pathSchema = z.object({
  kb_id: z.string().max(maxIdLength, `Should have at most ${maxIdLength} characters`),
});

const addressSchema = z
  .url({ protocol: /^https?$/, error: 'Should be an http or https address, given once' })
  .max(maxAddressLength, `Should have at most ${maxAddressLength} characters`)
  .transform((address) => new URL(address));

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

/** Knowledge bases, and the websites that they may be filled from (platform document, Endpoints). */
export function knowledgeBaseRoutes({
  knowledgeBases,
  websiteParameter,
  websiteHosts,
  clock,
}: KnowledgeBaseParts): readonly Route[] {
  // The parameter's name is only known at run time, so the type doesn't have it.
  const querySchema = z
    .object({ [websiteParameter]: addressSchema })
    .transform((query) => query[websiteParameter] as URL);
  const root = '/api/v1/knowledge-bases';
  return [
    // Comes first: its path begins like that of a knowledge base.
    routesOf('websites', 'knowledge-base')(
      'sitemaps',
      'GET',
      `${root}/documents/website/sitemaps`,
      (request) =>
        findLinks(validated(querySchema, request.query, 'query'), websiteHosts, clock, request.signal),
    ),
    routesOf('knowledge-bases', 'knowledge-base')('get', 'GET', `${root}/:kb_id`, (request) =>
      getKnowledgeBase(request, knowledgeBases),
    ),
  ];
}

/** Website URL discovery (platform document, GET sitemaps). */
async function findLinks(
  website: URL,
  hosts: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  try {
    return {
      status: 200,
      body: { success: true, links: await discoverLinks(website, hosts, clock, signal) },
    };
  } catch (error) {
    if (error instanceof WebsiteProblem) return problems[error.kind];
    throw error;
  }
}

/** Platform document, GET knowledge base. */
function getKnowledgeBase({ caller, params }: ApiRequest, knowledgeBases: KnowledgeBases): ApiAnswer {
  const { kb_id: id } = validated(pathSchema, params, 'path');
  const knowledgeBase = knowledgeBases.find(caller, id);
  // The same answer for a missing, a malformed and another tenant's id: callers must not learn which ids exist.
  if (!knowledgeBase) throw new ApiError('not_found', 'Knowledge base not found');
  return { status: 200, body: knowledgeBase };
}
