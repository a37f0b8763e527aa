import { withDeadline } from '../../kit/aborting.ts';
import type { Clock } from '../../kit/clock.ts';
import { type Sitemap, readSitemap, sitemapsInRobots } from './documents.ts';
import { WebsiteProblem, readText } from './website.ts';

/** How long a website is searched, in milliseconds; then the links found so far are returned. */
const timeout = 10_000;
const maxSitemaps = 50;
/** In all sitemaps together. */
const maxLinks = 50_000;
/** How deep indexes may be nested: the protocol forbids an index in an index, but websites have them. */
const maxDepth = 3;
/** The sitemaps protocol's longest address, in characters: fifty documents of longer ones would fill the memory. */
const maxLinkLength = 2_048;
/** The usual places of sitemaps, for a website whose robots.txt names none. */
const usualPlaces = ['/sitemap.xml', '/sitemap_index.xml'];

/** All documents are of one origin. */
interface Website {
  readonly origin: string;
  readonly read: (url: URL) => Promise<string | undefined>;
}

interface Place {
  readonly url: URL;
  readonly depth: number;
}

/**
 * Lists the addresses in a website's sitemaps, which its robots.txt names. The website is an origin on loopback or on
 * one of the hosts, and only documents of that origin are fetched. Broken sitemaps are skipped. Everything is bounded,
 * so that no website takes more than about ten seconds.
 *
 * @param hosts hosts outside of loopback that may be visited
 * @param signal aborts the search
 * @throws WebsiteProblem when the website may not be visited or doesn't answer
 */
export function discoverLinks(
  address: URL,
  hosts: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return withDeadline(clock, timeout, [signal], async (ending) => {
    const website = { origin: address.origin, read: (url: URL) => readText(url, hosts, ending.signal) };
    return linksOf(website, await firstPlaces(website));
  });
}

async function firstPlaces(website: Website): Promise<readonly Place[]> {
  const robots = await website.read(new URL('/robots.txt', website.origin));
  const named = placesIn(website, sitemapsInRobots(robots ?? ''), 0);
  return named.length > 0 ? named : placesIn(website, usualPlaces, 0);
}

/** Reads the sitemaps breadth-first: those behind fewer indexes come first. */
async function linksOf(website: Website, places: readonly Place[]): Promise<readonly string[]> {
  const pending = [...places];
  const seen = new Set<string>();
  const links = new Set<string>();
  for (const { url, depth } of pending) {
    if (links.size >= maxLinks || seen.size >= maxSitemaps) break;
    if (seen.has(url.href)) continue;
    seen.add(url.href);
    const { kind, locations } = await sitemapAt(website, url);
    // A document may list far more addresses than are ever returned or fetched.
    if (kind === 'pages')
      for (const link of locations.slice(0, maxLinks).filter(isWebAddress)) links.add(link);
    else if (depth < maxDepth) pending.push(...placesIn(website, locations.slice(0, maxSitemaps), depth + 1));
  }
  return [...links].slice(0, maxLinks);
}

async function sitemapAt(website: Website, url: URL): Promise<Sitemap> {
  try {
    const document = await website.read(url);
    return (document === undefined ? undefined : await readSitemap(document)) ?? nothing;
  } catch (error) {
    if (error instanceof WebsiteProblem) return nothing;
    throw error;
  }
}

const nothing: Sitemap = { kind: 'pages', locations: [] };

function placesIn(website: Website, addresses: readonly string[], depth: number): readonly Place[] {
  return addresses.flatMap((address) => {
    const url = URL.parse(address, website.origin);
    if (url?.origin !== website.origin) return [];
    // Addresses that differ only in their fragment are the same document.
    url.hash = '';
    return [{ url, depth }];
  });
}

function isWebAddress(link: string): boolean {
  return link.length <= maxLinkLength && /^https?:\/\//i.test(link) && URL.canParse(link);
}
