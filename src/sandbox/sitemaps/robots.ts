/** How much of a robots.txt is read, in characters; RFC 9309 requires at least this. */
const mostRead = 500 * 1024;

/** The addresses of sitemaps that a robots.txt names (RFC 9309, `Sitemap:`), in its order. */
export function sitemapsInRobots(text: string): readonly string[] {
  const lines = text.slice(0, mostRead).split(/\r\n|\r|\n/);
  return lines.flatMap((line) => {
    const [, address] = /^[\t ]*sitemap[\t ]*:[\t ]*([^\t #]+)/i.exec(line) ?? [];
    return address === undefined ? [] : [address];
  });
}
