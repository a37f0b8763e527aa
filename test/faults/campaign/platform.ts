import { createPlatform } from '../../../src/platform/index.ts';
import { type Clock, type Random, systemClock } from '../../../src/kit/clock.ts';
import { type Attempt, createSandbox, type Sandbox } from '../../../src/sandbox/index.ts';
import type { History } from './history.ts';
import { senderTimeout } from './sender.ts';

/** How many times as fast as the platform's the sandbox's time goes: its three retries take two seconds. */
const speed = 15;
/**
 * Attempts wait as long as the other sender does. In their second, the balancer could ask one receiver at most, and a
 * busy machine would answer hardly any.
 */
const clock: Clock = {
  ...systemClock,
  after: (ms, action) => systemClock.after(ms === 1_000 ? senderTimeout : ms, action),
};

/** How many calls it plays at least, so that each disturbance meets receivers also while nothing is at fault. */
const leastCalls = 200;

export interface PlatformOptions {
  /** Where its subscription sends deliveries. */
  readonly url: string;
  readonly seed: number;
  readonly history: History;
  readonly random: Random;
  /** How many calls go on at the same time. */
  readonly calls: number;
  /** How long a call pauses between its events at the most, in milliseconds. */
  readonly maxPause: number;
}

/**
 * Calls that the sandbox plays, while its adversary disturbs the deliveries. Those that are given up after four
 * attempts may be missing.
 */
export class Platform {
  /** What the subscription's deliveries are signed with. */
  readonly secret: string;
  readonly #sandbox: Sandbox;
  readonly #options: PlatformOptions;
  readonly #sent = new Set<string>();
  #begun = 0;
  #isStopped = false;

  private constructor(sandbox: Sandbox, secret: string, options: PlatformOptions) {
    this.#sandbox = sandbox;
    this.secret = secret;
    this.#options = options;
    sandbox.attempts.watch((attempt) => this.#note(attempt));
  }

  static async start(options: PlatformOptions): Promise<Platform> {
    const { seed, url } = options;
    const sandbox = createSandbox({ clock, speed, callSeed: seed, adversary: { seed } });
    await sandbox.start();
    try {
      const { subscriptions } = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey ?? '' });
      const { secret } = await subscriptions.create({ name: 'campaign', url });
      if (!secret) throw new Error('The subscription has no secret.');
      return new Platform(sandbox, secret.reveal(), options);
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
  }

  /** Resolves when it has been stopped, enough calls were played, and their last delivery is made or given up. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.calls }, () => this.#callAfterCall()));
  }

  stop(): void {
    this.#isStopped = true;
  }

  async close(): Promise<void> {
    await this.#sandbox.stop();
  }

  async #callAfterCall(): Promise<void> {
    const { random, maxPause } = this.#options;
    const paused = () => Math.round(random() * maxPause * speed);
    while (!this.#isStopped || this.#begun < leastCalls) {
      this.#begun += 1;
      await this.#sandbox.calls.play({ duration: paused(), analysisAfter: paused() });
    }
  }

  #note({ traceId, callId, eventName, latencyMs, status, answer, disturbance }: Attempt): void {
    const { history } = this.#options;
    if (!this.#sent.has(traceId)) {
      this.#sent.add(traceId);
      history.write({ kind: 'sent', at: Math.floor(history.now - latencyMs), traceId, callId, eventName });
    }
    history.write({ kind: 'answered', traceId, status, result: resultIn(answer), disturbance });
  }
}

function resultIn(answer: string | undefined): string | undefined {
  try {
    return (JSON.parse(answer ?? '') as { readonly status?: string }).status;
  } catch {
    return undefined;
  }
}
