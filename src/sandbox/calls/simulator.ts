import { z } from 'zod';
import { type Clock, pause } from '../../kit/clock.ts';
import { configError } from '../../errors/errors.ts';
import { parseStrictly, signalOption } from '../../errors/option-problems.ts';
import { underSignals } from '../../kit/aborting.ts';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { Agent } from '../model.ts';
import type { Tenants } from '../tenants.ts';
import type { PlayedCall } from './call.ts';
import { type CallPlan, type ParsedPlan, callPlanSchema } from './call-plan.ts';
import { composeCall } from './composing.ts';
import { sandboxEventOf } from './event-bodies.ts';
import type { PlayedCalls } from './played-calls.ts';
import { oneOf, seededRandom } from './seeded-random.ts';

/** @internal Left out of the declarations, because it needs the types of the database's driver. */
export interface CallSimulatorParts {
  readonly clock: Clock;
  readonly speed: number;
  /** The seed of all random draws: the same seed and a new database give the same calls. */
  readonly callSeed: string;
  readonly tenants: Pick<Tenants, 'firstOrganization' | 'agents' | 'findAgent'>;
  readonly played: PlayedCalls;
  readonly engine: Pick<DeliveryEngine, 'schedule' | 'settledCall'>;
  /** @throws RingbackError unless the sandbox runs */
  readonly requireStarted: (method: string) => void;
  readonly stopping: AbortSignal;
}

/** Plays calls: delivers their events, each at its time, and keeps them to be read back. */
export class CallSimulator {
  readonly #parts: CallSimulatorParts;

  /** @internal */
  constructor(parts: CallSimulatorParts) {
    this.#parts = parts;
  }

  /**
   * Plays one whole call: started, perhaps transferred, ended, analysed. Resolves to the call when its last delivery is
   * made or given up, or when the sandbox stops (the next start plays the rest).
   *
   * @throws ConfigError for an invalid plan, an agent of another organization, a call id that was played before
   * @example
   * const call = await sandbox.calls.play({ scenario: 'transferred', callId: 'call_42', duration: '90s' });
   * call.transfer?.destination; // 'sip:support@example.com'
   */
  async play(plan: CallPlan = {}): Promise<PlayedCall> {
    const call = this.#begin(plan, 'calls.play');
    await this.#parts.engine.settledCall(call.callId);
    return call;
  }

  /**
   * Like `play`, but returns as soon as the call has begun.
   *
   * @throws ConfigError as `play` does
   * @example const { callId } = sandbox.calls.begin({ scenario: 'transferred' });
   */
  begin(plan: CallPlan = {}): PlayedCall {
    return this.#begin(plan, 'calls.begin');
  }

  /**
   * Begins calls at even intervals of the platform's time, until there are `count` of them, `signal` is aborted, or the
   * sandbox stops. Resolves to the number of calls when the last delivery of every call is made or given up.
   *
   * @throws ConfigError for invalid options
   * @example await sandbox.calls.traffic({ callsPerMinute: 30, count: 100 }); // 100
   */
  async traffic(options: TrafficOptions): Promise<number> {
    const { requireStarted, clock, speed, engine, stopping } = this.#parts;
    requireStarted('calls.traffic()');
    const { callsPerMinute, count, signal } = parseStrictly(trafficSchema, options, 'calls.traffic');
    return underSignals([signal, stopping], (ending) =>
      playTraffic({
        begin: () => engine.settledCall(this.begin().callId),
        interval: 60_000 / callsPerMinute / speed,
        count,
        signal: ending.signal,
        clock,
      }),
    );
  }

  /** A played call of any organization, or undefined: the sandbox's owner asks, not a tenant. */
  get(callId: string): PlayedCall | undefined {
    this.#parts.requireStarted('calls.get()');
    return this.#parts.played.get(callId);
  }

  #begin(plan: CallPlan, method: Method): PlayedCall {
    const { requireStarted, played, callSeed, clock, speed, engine } = this.#parts;
    requireStarted(`${method}()`);
    const parsed = parseStrictly(callPlanSchema, plan, method, 'plan');
    if (parsed.callId !== undefined && played.get(parsed.callId))
      throw planInvalid(method, 'callId', 'the id of a new call', 'that of a call played before');
    const number = played.nextNumber();
    const agent = this.#agentOf(parsed, number, method);
    const call = composeCall(parsed, { seed: callSeed, number, agent, clock, speed });
    played.add(number, call);
    for (const event of call.events) {
      engine.schedule({ event: sandboxEventOf(call, event), happensAt: event.happensAt });
    }
    return call;
  }

  #agentOf({ organizationId, agentId }: ParsedPlan, number: number, method: Method): Agent {
    const { tenants, callSeed } = this.#parts;
    if (agentId !== undefined) {
      const agent = tenants.findAgent(agentId);
      const isTheirs = organizationId === undefined || agent?.organizationId === organizationId;
      if (agent && isTheirs) return agent;
      throw planInvalid(method, 'agentId', 'the id of an agent', JSON.stringify(agentId));
    }
    const id = organizationId ?? tenants.firstOrganization() ?? '';
    const [first, ...others] = tenants.agents(id);
    if (!first) {
      const fix = 'Add an agent to the seed of a new database: calls are about agents.';
      throw planInvalid(method, 'organizationId', 'an organization with an agent', JSON.stringify(id), fix);
    }
    return oneOf(seededRandom(callSeed, number, 'agent'), [first, ...others]);
  }
}

type Method = 'calls.play' | 'calls.begin';

function planInvalid(method: Method, option: keyof CallPlan, expected: string, found: string, fix?: string) {
  return configError('option_invalid', { option: `${option} in ${method}`, expected, found, fix });
}

/** Options of `calls.traffic`. */
export interface TrafficOptions {
  /** Calls per minute of the platform's time: at a speed of 10, a real minute has ten times as many. */
  readonly callsPerMinute: number;
  /** How many calls in all. @default no end */
  readonly count?: number | undefined;
  /** Stops the traffic. Calls that have begun are played to their end. */
  readonly signal?: AbortSignal | undefined;
}

const expected = {
  rate: 'a number above 0, at most 1,000,000',
  count: 'a whole number of 1 or more',
};

const trafficSchema = z.strictObject({
  callsPerMinute: z.number(expected.rate).positive(expected.rate).max(1_000_000, expected.rate),
  count: z.int(expected.count).min(1, expected.count).default(Number.MAX_SAFE_INTEGER),
  signal: signalOption,
});

interface Traffic {
  /** Begins a call; the promise resolves when the call has ended. */
  readonly begin: () => Promise<void>;
  readonly interval: number;
  readonly count: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** How much missed time is made up for, in milliseconds: after a suspension, all missed calls would be a flood. */
const maxLag = 1_000;
/** The most calls at once, to bound the memory; further calls wait until some have ended. */
const maxAtOnce = 20_000;
/** The most calls that begin in one turn of the event loop, each of which takes up to half a millisecond. */
const maxTogether = 100;

/** Plays calls at an even pace. Resolves to their number when all have ended. */
async function playTraffic({ begin, interval, count, signal, clock }: Traffic): Promise<number> {
  const playing = new Set<Promise<void>>();
  let played = 0;
  let nextAt = clock.elapsed();
  while (played < count && !signal.aborted) {
    const now = clock.elapsed();
    nextAt = Math.max(nextAt, now - maxLag);
    // Timers are no finer than a millisecond, so the calls that are due now begin together. Calls that become due
    // meanwhile wait: if beginning a call took longer than the interval, nothing else would ever run.
    const most = Math.min(count, played + maxTogether, played + maxAtOnce - playing.size);
    while (played < most && nextAt <= now) {
      const call = begin().finally(() => playing.delete(call));
      playing.add(call);
      played += 1;
      nextAt += interval;
    }
    if (played < count) await pause(clock, nextAt - clock.elapsed(), signal);
  }
  await Promise.all(playing);
  return played;
}
