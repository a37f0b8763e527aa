/** Sends a receiver the requests of an open overview, at the page's own pace, and of Prometheus. */

/** How often Prometheus reads, in milliseconds. Its usual interval is 15 seconds. */
const scrapePause = 1_000;

const minute = 60_000;
/** How long after its end the page counts a minute as over, in milliseconds. */
const writtenWithin = 5_000;

/** What the overview and the menu beside it show, and the changes at which each is requested again. */
const resources: readonly (readonly [path: () => string, topics: readonly string[]])[] = [
  [() => '/counts', ['events', 'quarantine', 'failures', 'handlers']],
  [() => '/alerts', ['alerts']],
  [() => '/audit/running', ['audit']],
  [() => '/backlog', ['history']],
  [() => historyPath(5 * minute, 5 * minute), ['history']],
  [() => historyPath(60 * minute, minute), ['history']],
];

/** The counts of a stretch that ends with the last minute that is over. */
function historyPath(length: number, step: number): string {
  const until = Math.floor((Date.now() - writtenWithin) / minute) * minute;
  const times = [until - length, until].map((time) => encodeURIComponent(new Date(time).toISOString()));
  return `/history?resolution=minute&since=${times[0]}&until=${times[1]}&step=${step}ms`;
}

/** An open page and Prometheus. */
export class Viewer {
  readonly #address: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;
  /** The entity tag of the last answer of each path. */
  readonly #tags = new Map<string, string>();

  constructor(address: string) {
    this.#address = address;
    this.#ended = Promise.allSettled([this.#scrape(), this.#follow()]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #scrape(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#get('/metrics');
      await new Promise((resolve) => setTimeout(resolve, scrapePause));
    }
  }

  /** Loads everything, and what has changed with each message of the stream, which brings at most one a second. */
  async #follow(): Promise<void> {
    await this.#get('/ringback/');
    await this.#get('/ringback/api/access');
    const { signal } = this.#stop;
    const [{ body }] = await Promise.all([
      fetch(`${this.#address}/ringback/api/changes`, { signal }),
      this.#load(() => true),
    ]);
    if (!body) throw new Error('There is no stream of changes');
    for await (const message of body.pipeThrough(new TextDecoderStream())) {
      const [, changed] = /^data: (.*)$/m.exec(message) ?? [];
      if (changed === undefined) continue;
      const { topics } = JSON.parse(changed) as { readonly topics: readonly string[] };
      await this.#load((wanted) => topics.some((topic) => wanted.includes(topic)));
    }
  }

  /** All at the same time, as the page does. */
  async #load(isChanged: (topics: readonly string[]) => boolean): Promise<void> {
    const changed = resources.filter(([, topics]) => isChanged(topics));
    await Promise.all(changed.map(([path]) => this.#get(`/ringback/api${path()}`)));
  }

  async #get(path: string): Promise<void> {
    const known = this.#tags.get(path);
    const headers = known === undefined ? {} : { 'if-none-match': known };
    const response = await fetch(`${this.#address}${path}`, { headers, signal: this.#stop.signal });
    await response.arrayBuffer();
    if (!response.ok && response.status !== 304)
      throw new Error(`${path} was answered with ${response.status}`);
    const tag = response.headers.get('etag');
    if (tag !== null) this.#tags.set(path, tag);
  }
}
