import { ringbackError } from '../errors.ts';
import type { CallSimulator } from './calls/simulator.ts';
import type { Attempts } from './delivery/attempts.ts';
import type { GivenUpDelivery } from './delivery/outbox.ts';
import { type ResolvedSandboxOptions, type SandboxOptions, resolveSandboxOptions } from './options.ts';
import { type Parts, buildParts } from './parts.ts';
import type { ToolRun } from './tools/run-tool.ts';

/** What has become of deliveries. */
export interface Deliveries {
  /** Those that the platform has stopped trying to make, in the order in which their events happened. */
  readonly givenUp: () => readonly GivenUpDelivery[];
  /** Resolves when no event is to come and every delivery is made or given up, or the sandbox stops. */
  readonly settled: () => Promise<void>;
}

/**
 * A stand-in for the platform: its documented API over HTTP on loopback, and deliveries for real. Made by `createSandbox`.
 */
export class Sandbox {
  /** Plays calls. */
  readonly calls: CallSimulator;
  /** Every attempt to deliver something, with its answer and how long that took. */
  readonly attempts: Attempts;
  readonly deliveries: Deliveries;
  /**
   * The key of the demonstration organization that a new database was filled with. Undefined when there was a seed, whose
   * keys are its own, and when the database was there before: only digests of keys are stored.
   */
  readonly apiKey: string | undefined;
  readonly #options: ResolvedSandboxOptions;
  readonly #parts: Parts;
  readonly #stopping = new AbortController();
  #state: 'created' | 'started' | 'stopped' = 'created';
  #listening: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(options: SandboxOptions) {
    this.#options = resolveSandboxOptions(options);
    this.#parts = buildParts(this.#options, {
      stopping: this.#stopping.signal,
      requireStarted: this.#requireStarted,
    });
    const { calls, attempts, engine, apiKey } = this.#parts;
    this.calls = calls;
    this.attempts = attempts;
    this.deliveries = { givenUp: () => engine.givenUp(), settled: () => engine.settled() };
    this.apiKey = apiKey;
  }

  /**
   * Where it listens, such as `http://127.0.0.1:49152`: the base URL of the platform.
   *
   * @throws RingbackError `sandbox_not_running`
   */
  get url(): string {
    this.#requireStarted('sandbox.url');
    return this.#parts.server.url;
  }

  /**
   * Listens, and takes up the deliveries that an earlier run has left.
   *
   * @throws RingbackError `port_in_use`, `listen_failed`, `sandbox_started`
   */
  async start(): Promise<void> {
    if (this.#state !== 'created') throw ringbackError('sandbox_started');
    this.#state = 'started';
    const { host, port } = this.#options;
    this.#listening = this.#parts.server.listen(host, port);
    try {
      await this.#listening;
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (!this.#stopping.signal.aborted) this.#parts.engine.start();
  }

  /** Ends what is under way, keeps what is not settled for the next start, and closes. May be called more than once. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /**
   * Lets the next `count` requests of an operation be answered with 503; 0 takes back what was asked before.
   *
   * @param operation Its name, such as `subscriptions.create`, or a group, such as `knowledge-bases`
   * @throws ConfigError `option_invalid` for an operation that there isn't
   * @example sandbox.fail('knowledge-bases', 3);
   */
  fail(operation: string, count: number): void {
    this.#parts.failures.expect(operation, count);
  }

  /**
   * Calls a custom tool that an agent has registered, as the platform would when its model asks for it.
   *
   * @param args What the model gives
   * @throws RingbackError `tool_unregistered`
   * @example await sandbox.callTool('agent_demonstration', 'tool_1', { order_number: '4711' });
   */
  callTool(agentId: string, toolId: string, args: Readonly<Record<string, unknown>> = {}): Promise<ToolRun> {
    return this.#parts.toolCaller.call({ agentId, toolId, args });
  }

  async #stop(): Promise<void> {
    const { engine, server, database } = this.#parts;
    this.#state = 'stopped';
    this.#stopping.abort();
    // What is about to listen can't be closed yet.
    await this.#listening.catch(() => {});
    await engine.stop();
    await server.close();
    database.close();
  }

  readonly #requireStarted = (method: string): void => {
    if (this.#state !== 'started') throw ringbackError('sandbox_not_running', { method });
  };
}

/**
 * Makes a sandbox: opens its database, and fills it when it is new. It listens after `start`.
 *
 * @throws ConfigError for an option or a seed that can't be; RingbackError `database_unreadable`, `database_newer`
 * @example
 * const sandbox = createSandbox({ speed: 60 });
 * await sandbox.start();
 * const platform = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}
