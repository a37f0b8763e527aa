/** Sends a receiver the requests of an open overview, at each change, and of Prometheus. */

/** How often Prometheus reads, in milliseconds. Its usual interval is 15 seconds. */
const scrapePause = 1_000;

/** What the overview requests. */
const asked = ['/counts', '/alerts', `/history?resolution=minute&since=`] as const;

/** An open page and Prometheus. */
export class Viewer {
  readonly #address: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;

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

  /** The stream reports changes at most once a second; the page then reloads its data. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    const { body } = await fetch(`${this.#address}/ringback/api/changes`, { signal });
    if (!body) throw new Error('There is no stream of changes');
    const since = new Date(Date.now() - 3_600_000).toISOString();
    for await (const chunk of body)
      for (const path of chunk.byteLength > 0 ? asked : [])
        await this.#get(`/ringback/api${path}${path.endsWith('since=') ? encodeURIComponent(since) : ''}`);
  }

  async #get(path: string): Promise<void> {
    const response = await fetch(`${this.#address}${path}`, { signal: this.#stop.signal });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  }
}
