import { type RefusalCode, jsonOfBufferFix, refusal, Refusal, refusals } from '../errors/refusals.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Activity } from '../kit/activity.ts';
import type { Tracing } from '../kit/tracing.ts';
import { headerOf } from '../events/names.ts';
import type { Clock } from '../kit/clock.ts';
import type { BodyDecoder } from '../events/decoding.ts';
import { type Reading, readBytes } from '../events/read-event.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { Delivery, Headers, Reply } from '../events/model.ts';
import { BoundedReports, type LogEvent, type Telemetry } from '../receiver/telemetry.ts';
import type { AcceptedSchemes } from './accepted-schemes.ts';
import { accept } from './accept.ts';
import { type Admission, admit, senderOf } from './admit.ts';
import { type BodyLimits, assemble } from './assemble.ts';
import { signsId, withoutUnsignedId } from '../signature/content.ts';
import type { Authenticator } from './authenticate.ts';
import { InflightBodies, type InflightBody, type InflightLimits } from './inflight-bodies.ts';
import type { RecordedDelivery, Recorder } from './record.ts';
import { RotationWatch } from './rotation-watch.ts';
import type { UnauthenticatedDeliveries } from './unauthenticated.ts';
import type { Store } from '../store/store.ts';

export interface IntakeParts {
  readonly limits: BodyLimits & InflightLimits;
  readonly admission: Admission;
  readonly authenticator: Authenticator;
  readonly schemes: AcceptedSchemes;
  readonly decoder: BodyDecoder;
  readonly unauthenticated: UnauthenticatedDeliveries;
  readonly recorder: Recorder;
  readonly store: Pick<Store, 'isOverloaded'>;
  /** What is not a refusal: an error inside, or of the app's own functions. */
  readonly failures: BoundedReports;
  readonly telemetry: Telemetry;
  readonly activity: Activity;
  readonly tracing: Tracing;
  readonly clock: Clock;
  /** Called when recording a delivery has failed or was given up. */
  readonly onNotRecorded: () => void;
}

/**
 * How long one turn of the event loop may verify and read deliveries, and how long a delivery may wait for that, in
 * milliseconds. Without the second limit, senders would give up in an app whose turns are long.
 */
const share = { ofTurn: 2, maxWait: 30 };

/** Made once: an overload throws it thousands of times a second, and the stack trace of a new error is expensive. */
const overloaded = new Refusal('unavailable', 'inbox_overloaded');

/** How many different fixes are logged per reason. Some quote what was sent, and a sender must not fill the log. */
const maxExplained = 3;

/** Takes a delivery through the stages, from the socket to the answer. Refusals of the stages are caught only here. */
export class Intake {
  /** Whether deliveries are taken. `unstarted`: `start` was never called. `closed`: starting, stopping or stopped. */
  state: 'unstarted' | 'open' | 'closed' = 'unstarted';
  readonly #parts: IntakeParts;
  readonly #bodies: InflightBodies;
  readonly #rotation: RotationWatch;
  /** What anybody can cause, or whoever has a copy of a delivery, by sending it again. */
  readonly #reports: Readonly<
    Record<'refused' | 'duplicate' | 'quarantined' | 'traceIdDiffers', BoundedReports>
  >;
  readonly #share: EventLoopShare;
  /** The fixes that have been logged, by reason, so that a flood for one reason leaves room for the others. */
  readonly #explained = new Map<string, Set<string>>();

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    const { limits, clock, admission, telemetry } = parts;
    const senderOfDelivery = (delivery: Delivery) => senderOf(delivery, admission.trustProxy);
    this.#bodies = new InflightBodies({ limits, clock, senderOf: senderOfDelivery });
    this.#share = new EventLoopShare(parts.clock, share);
    const bounded = (event: LogEvent) => new BoundedReports(clock, telemetry, event);
    this.#reports = {
      refused: bounded('delivery_refused'),
      duplicate: bounded('delivery_duplicate'),
      quarantined: bounded('delivery_quarantined'),
      traceIdDiffers: bounded('trace_id_differs'),
    };
    this.#rotation = new RotationWatch(telemetry, () => parts.schemes.pinned, clock);
  }

  /** See `RotationWatch`. */
  takeSuspicion(): boolean | undefined {
    return this.#rotation.takeSuspicion();
  }

  /** Takes a delivery and resolves to the answer. Never rejects. */
  readonly take = async (delivery: Delivery): Promise<Reply> => {
    const { activity, tracing, clock } = this.#parts;
    const begunAt = clock.elapsed();
    const inflight = this.#bodies.begin(delivery, begunAt);
    try {
      const { tracer } = tracing;
      const { status, traceId } = tracer
        ? await tracer.receive(headerOf(delivery.headers, 'traceparent'), () => this.#throughStages(inflight))
        : await this.#throughStages(inflight);
      activity.answered(status, clock.elapsed() - begunAt);
      // Success is always 200: the platform doesn't document which other statuses count as delivered.
      return { status: 200, headers: json, body: JSON.stringify({ status, traceId }) };
    } catch (problem) {
      const code = problem instanceof Refusal ? problem.code : 'unavailable';
      activity.answered(`refused:${code}`, clock.elapsed() - begunAt);
      return this.#refuse(problem);
    } finally {
      this.#bodies.end(inflight);
    }
  };

  /** Resolves when every delivery has been answered. Bodies unfinished after `timeout` milliseconds are refused. */
  drained(timeout: number): Promise<void> {
    return this.#bodies.drained(timeout);
  }

  /** Logs what was only counted so far. */
  flushLog(): void {
    const { failures } = this.#parts;
    for (const reports of [failures, ...Object.values(this.#reports)]) reports.flush();
  }

  async #throughStages(inflight: InflightBody): Promise<RecordedDelivery> {
    const { delivery } = inflight;
    const { limits, admission, authenticator, schemes, decoder, recorder, store, clock } = this.#parts;
    const receivedAt = clock.now();
    // The fix is for those who have forgotten `start`.
    if (this.state === 'unstarted') throw refusal('unavailable', 'not_open');
    if (this.state === 'closed') throw new Refusal('unavailable', 'not_open');
    accept(delivery, limits.body);
    admit(delivery, admission);
    const bytes = await assemble(inflight, this.#bodies, limits, clock);
    const wait = this.#share.whenFree();
    // Awaited only if there is something to wait for: an await would let others use the time just given to this
    // delivery.
    if (wait) await wait;
    // Checked before verifying, which in an overload would take the time that the answers need, but after reading the
    // body: leaving it unread might cost the connection.
    if (store.isOverloaded?.()) throw overloaded;
    const authenticated = authenticator.authenticate(bytes, delivery.headers);
    const { scheme, secret } =
      authenticated instanceof Promise
        ? await authenticated.catch((problem: unknown) =>
            this.#refuseUnauthenticated(problem, bytes, delivery.headers, receivedAt),
          )
        : authenticated;
    const isIdSigned = signsId(scheme);
    const headers = isIdSigned ? withoutUnsignedId(delivery.headers, scheme) : delivery.headers;
    const read = readBytes(decoder, { body: bytes, headers, receivedAt });
    // Awaited only for a large body: a small one is recorded in the same turn as the check for overload.
    const reading = read instanceof Promise ? await read : read;
    if (reading.ok && reading.traceIdDiffers)
      this.#reports.traceIdDiffers.add({}, { traceId: reading.event.traceId });
    const received = { bytes, headers, receivedAt, isIdSigned };
    const recorded = await recorder.record(reading, received);
    this.#rotation.verified();
    this.#report(recorded, reading, secret);
    const pinning = recorded.status === 'accepted' ? schemes.pin(scheme) : undefined;
    if (pinning) await pinning;
    return recorded;
  }

  /** Logs what became of an authentic delivery. `secret` is the fingerprint of the one that signed it. */
  #report(recorded: RecordedDelivery, reading: Reading, secret: string | undefined): void {
    const { status, traceId, quarantineId } = recorded;
    if (status === 'accepted') return this.#parts.telemetry.report('delivery_accepted', { traceId, secret });
    const reason = reading.ok ? undefined : reading.reason;
    this.#reports[status].add({}, { traceId, secret, reason, quarantineId });
  }

  /**
   * Keeps an unauthenticated delivery in quarantine.
   *
   * @throws the problem; a refusal, with its number in quarantine if the delivery was kept
   */
  async #refuseUnauthenticated(
    problem: unknown,
    bytes: Uint8Array,
    headers: Headers,
    receivedAt: number,
  ): Promise<never> {
    if (problem instanceof Refusal && problem.code === 'not_authentic') {
      const { authenticator, unauthenticated } = this.#parts;
      const otherScheme = () => authenticator.authenticateInOtherScheme(bytes, headers, receivedAt)?.scheme;
      this.#rotation.refused(problem.reason, headers, otherScheme);
      const refused = isJsonOfBuffer(bytes) ? problem.fixedBy(jsonOfBufferFix) : problem;
      const kept = await unauthenticated.keep(bytes, headers, refused.reason, receivedAt);
      throw kept === undefined ? refused : refused.keptAs(kept);
    }
    throw problem;
  }

  #refuse(problem: unknown): Reply {
    const { telemetry, failures } = this.#parts;
    if (!(problem instanceof Refusal)) {
      // Not the sender's fault: after 503 the platform sends the delivery again.
      failures.add({}, { cause: messageOf(problem) });
      return replyRefused('unavailable');
    }
    const { code, reason, fix, quarantineId } = problem;
    if (reason === 'not_recorded') this.#parts.onNotRecorded();
    this.#reports.refused.add({ code, reason }, { quarantineId });
    const explained = this.#explained.get(reason) ?? new Set<string>();
    if (fix !== undefined && !explained.has(fix) && explained.size < maxExplained) {
      this.#explained.set(reason, explained.add(fix));
      telemetry.report('refusal_fix', { reason, fix });
    }
    return replyRefused(code);
  }
}

const json = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' } as const;

/** The sender gets the code and never the reason: a forger could learn from that. */
function replyRefused(code: RefusalCode): Reply {
  const { status, headers } = refusals[code];
  return { status, headers: { ...json, ...headers }, body: JSON.stringify({ error: code }) };
}

const startOfJsonOfBuffer = Buffer.from('{"type":"Buffer","data":[');

function isJsonOfBuffer(bytes: Uint8Array): boolean {
  return startOfJsonOfBuffer.equals(bytes.subarray(0, startOfJsonOfBuffer.length));
}
