import { ringbackError } from '../errors/errors.ts';
import type { CallSimulator } from './calls/simulator.ts';
import type { ToolRun } from './custom-tools/tool-caller.ts';
import type { Attempts } from './delivery/attempts.ts';
import type { GivenUpDelivery } from './delivery/outbox.ts';
import type { FailureOptions } from './failures.ts';
import { type ResolvedSandboxOptions, type SandboxOptions, resolveSandboxOptions } from './options.ts';
import { type Parts, buildParts } from './parts.ts';

/** Which deliveries were given up, and when all are settled. */
export interface Deliveries {
  /** The deliveries that will not be retried, in the order in which their events happened. */
  readonly givenUp: () => readonly GivenUpDelivery[];
  /** Resolves when no more events are planned and every delivery is made or given up, or when the sandbox stops. */
  readonly settled: () => Promise<void>;
}

/** Stands in for the platform: its documented API over HTTP on loopback, and real deliveries. */
export class Sandbox {
  /** Plays calls. */
  readonly calls: CallSimulator;
  /** Every attempt to deliver an event, with its answer and latency. */
  readonly attempts: Attempts;
  readonly deliveries: Deliveries;
  /**
   * The key of a new database's demonstration organization. Undefined with a seed, which has its own keys, and with an
   * existing database, which stores only digests of keys.
   */
  readonly apiKey: string | undefined;
  /** Whether the database was new and filled from the seed. @internal */
  readonly isNew: boolean;
  readonly #options: ResolvedSandboxOptions;
  readonly #parts: Parts;
  readonly #stopping = new AbortController();
  #state: 'created' | 'starting' | 'started' | 'stopped' = 'created';
  #listening: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(options: SandboxOptions) {
    this.#options = resolveSandboxOptions(options);
    this.#parts = buildParts(this.#options, {
      stopping: this.#stopping.signal,
      requireStarted: this.#requireStarted,
    });
    const { calls, attempts, outbox, engine, apiKey, database } = this.#parts;
    this.calls = calls;
    this.attempts = attempts;
    this.deliveries = { givenUp: () => outbox.givenUp(), settled: () => engine.settled() };
    this.apiKey = apiKey;
    this.isNew = database.isNew;
  }

  /**
   * The address that the sandbox listens on, such as `http://127.0.0.1:49152`: the base URL of the platform.
   *
   * @throws RingbackError `sandbox_not_running`
   */
  get url(): string {
    this.#requireStarted('sandbox.url');
    return this.#parts.server.url;
  }

  /**
   * Begins to listen, and resumes the deliveries and documents that were not settled when the sandbox last stopped.
   *
   * @throws RingbackError `port_in_use`, `listen_failed`, `sandbox_started`
   */
  async start(): Promise<void> {
    if (this.#state !== 'created') throw ringbackError('sandbox_started');
    this.#state = 'starting';
    const { host, port } = this.#options;
    this.#listening = this.#parts.server.listen(host, port);
    try {
      await this.#listening;
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (this.#stopping.signal.aborted) return;
    // Not before: a call that begins earlier would be resumed as well, and its events happen twice.
    this.#state = 'started';
    this.#parts.engine.start();
    this.#parts.ingestion.start();
  }

  /**
   * Ends everything in flight, and closes. Unsettled deliveries and documents stay in the database for the next start.
   * May be called more than once.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /**
   * Makes the next `count` requests of an operation fail: with 503, or as `how` says. 0 cancels an earlier call.
   *
   * @param operation Its name, such as `subscriptions.create`, or a group, such as `knowledge-bases`
   * @throws ConfigError `option_invalid` for an unknown operation or an invalid value, `option_unknown`
   * @example sandbox.fail('knowledge-bases', 3, { status: 429, retryAfter: 2 });
   */
  fail(operation: string, count: number, how: FailureOptions = {}): void {
    this.#parts.failures.failNext(operation, count, how);
  }

  /**
   * Calls a custom tool of an agent, as the platform would when its model asks for it.
   *
   * @param args The arguments that the model gives
   * @throws RingbackError `tool_unregistered`, `sandbox_not_running`
   * @example await sandbox.callTool('agent_demonstration', 'tool_1', { order_number: '4711' });
   */
  async callTool(
    agentId: string,
    toolId: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<ToolRun> {
    this.#requireStarted('sandbox.callTool()');
    return this.#parts.toolCaller.call({ agentId, toolId, args });
  }

  async #stop(): Promise<void> {
    const { engine, ingestion, server, database } = this.#parts;
    this.#state = 'stopped';
    this.#stopping.abort();
    // A server that is still starting to listen can't be closed.
    await this.#listening.catch(() => {});
    await engine.stop();
    await ingestion.stop();
    await server.close();
    database.close();
  }

  readonly #requireStarted = (method: string): void => {
    if (this.#state !== 'started') throw ringbackError('sandbox_not_running', { method });
  };
}

/**
 * Creates a sandbox: opens its database, and fills a new one. It listens after `start`.
 *
 * @throws ConfigError for an invalid option or seed; RingbackError `database_unreadable`, `database_newer`,
 *   `node_too_old`
 * @example
 * const sandbox = createSandbox({ speed: 60 });
 * await sandbox.start();
 * const platform = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}
