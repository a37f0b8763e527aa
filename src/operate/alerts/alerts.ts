import { groupPrefix } from '../../kit/activity.ts';
import { inWords } from '../../kit/duration.ts';
import type { Clock } from '../../kit/clock.ts';
import { messageOf } from '../../kit/error-text.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { AlertStore, KeptAlert } from '../../store/alert-store.ts';
import { type Backlog, wholeReceiver } from '../../store/history-store.ts';
import type { Store } from '../../store/store.ts';
import { type Alert, type AlertName, type Notify, alertNames } from '../../receiver/alert-options.ts';
import { type Thresholds, conditionsOf, unknownIn } from './conditions.ts';
import { type Condition, type Facts, isAboutGroup, maxCounted } from './facts.ts';
import { ClockWatch } from '../clock-watch.ts';
import { Notifications } from './notifications.ts';
import { arrivals } from './silence.ts';

/** An alert that is raised. */
export interface RaisedAlert extends Omit<Alert, 'state'> {}

interface AlertsParts {
  readonly store: Pick<Store, 'alerts' | 'history' | 'drift' | 'failures'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly backlog: () => Promise<Backlog>;
  readonly thresholds: Thresholds;
  /** The interval of reminders of a raised alert, in milliseconds. */
  readonly remind: number;
  readonly notify: Notify | undefined;
  /** Whether genuine deliveries seem to be refused here; undefined if none has verified since the last call. */
  readonly takeSuspicion: () => boolean | undefined;
  readonly freeDisk: () => Promise<number | undefined>;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** After how long an alert ends that another process found: that process may see what this one can't. */
const goneAfter = 3 * minute;
/** The same for a notified alert in a process without `notify`: a process that can notify should end it. */
const leftAfter = 5 * minute;

/** When a process found an alert. */
interface Finding {
  readonly foundAt: number;
  /** Since when this process knows of it, on its monotonic clock in milliseconds. */
  readonly knownSince: number;
}

/** Checks once a minute for problems that need a person, and reports each once. */
export class Alerts {
  readonly #parts: AlertsParts;
  readonly #clockWatch: ClockWatch;
  readonly #notifications: Notifications;
  /** The conditions of the last check. */
  #found: readonly Condition[] = [];
  /** The last known finding of each raised alert. */
  #findings: ReadonlyMap<string, Finding> = new Map();
  /** When this process last reported each raised alert, on its monotonic clock. */
  readonly #sentAt = new Map<string, number>();

  /** @internal */
  constructor(parts: AlertsParts) {
    this.#parts = parts;
    this.#clockWatch = new ClockWatch(parts.clock);
    this.#notifications = new Notifications(parts);
  }

  /**
   * Lists the raised alerts.
   *
   * @throws RingbackError `receiver_not_started`
   * @example (await receiver.alerts.list()).map(({ message }) => message)
   */
  async list(): Promise<readonly RaisedAlert[]> {
    const { store, requireStarted } = this.#parts;
    requireStarted('alerts.list()');
    return raisedAlerts(store.alerts);
  }

  /**
   * @internal Raises what is found, and ends what is no longer. Never rejects: what can't be looked at is looked at
   * later.
   */
  async check(): Promise<void> {
    try {
      const raised = (await this.#parts.store.alerts.list()).filter(isKnown);
      const facts = await this.#look(raised);
      const found = conditionsOf(facts, this.#parts.thresholds);
      this.#notifications.sendEndsAgain(new Set([...raised, ...found].map(keyOf)));
      const foundBefore = this.#found;
      this.#found = found;
      this.#findings = this.#findingsOf(raised);
      for (const key of this.#sentAt.keys()) if (!this.#findings.has(key)) this.#sentAt.delete(key);
      for (const condition of found) {
        const wasRaised = raised.some((alert) => isSame(condition, alert));
        await this.#raise(condition, facts.now, wasRaised);
      }
      const unknown = unknownIn(facts, this.#parts.thresholds);
      for (const alert of raised) {
        const isThere = unknown.includes(alert.name) || found.some((one) => isSame(one, alert));
        const wasFound = foundBefore.some((one) => isSame(one, alert));
        if (!isThere && this.#mayEnd(alert, wasFound)) await this.#end(alert);
      }
    } catch (error) {
      this.#parts.telemetry.report('alert_failed', { cause: messageOf(error) });
    }
  }

  /** @internal Aborts notifications in flight, and resolves when they have ended. */
  async stop(): Promise<void> {
    await this.#notifications.stop();
  }

  async #look(raised: Facts['raised']): Promise<Facts> {
    const { store, clock, takeSuspicion, freeDisk, thresholds } = this.#parts;
    const now = clock.now();
    const [deadRuns, backlog, minutes, hours, drift, free] = await Promise.all([
      store.alerts.deadRuns(maxCounted(thresholds.deadLetters)),
      this.#parts.backlog(),
      store.history.list('minute', now - hour, now),
      store.history.list('hour', now - 14 * day, now, wholeReceiver, arrivals),
      store.drift.list(),
      freeDisk(),
    ]);
    const last = hours.at(-1)?.at;
    const lastDeliveries =
      last === undefined || typeof thresholds.noDeliveries !== 'number'
        ? []
        : await store.history.list('minute', last, last + hour, wholeReceiver, arrivals);
    const names = new Set(minutes.map(({ name }) => name).filter((name) => name.startsWith(groupPrefix)));
    const groups = await store.failures.named([...names].map((name) => name.slice(groupPrefix.length)));
    const newDrift = drift.filter(({ firstSeenAt }) => firstSeenAt > now - day).length;
    return {
      now,
      raised,
      isClockTrusted: this.#clockWatch.isTrusted(),
      deadRuns,
      backlog,
      minutes,
      hours,
      lastDeliveries,
      groups,
      newDrift,
      isSecretSuspected: takeSuspicion(),
      freeDisk: free,
    };
  }

  async #raise({ name, subject, message }: Condition, now: number, wasRaised: boolean): Promise<void> {
    const { store, clock, remind, notify } = this.#parts;
    const notifies = notify !== undefined;
    const key = keyOf({ name, subject });
    const sentAt = this.#sentAt.get(key);
    // If the clocks of two processes differ by more than `remind`, each takes the other's reminder for an old one, and
    // they would remind in turn.
    const mayRemind = sentAt === undefined || clock.elapsed() - sentAt >= remind - minute;
    const toSend = await store.alerts.raise({
      name,
      subject,
      message,
      now,
      wasRaised,
      notifies,
      // An alert whose notification failed was sent before this time, so it is reported again in any case.
      sentBefore: mayRemind ? now - remind : 2,
    });
    if (!toSend) return;
    this.#sentAt.set(key, clock.elapsed());
    const { since, isNew } = toSend;
    const state = isNew ? 'raised' : 'reminded';
    this.#parts.telemetry.report('alert_raised', {
      alert: name,
      ...about(name, subject),
      state,
      found: message,
    });
    this.#notifications.send({ ...alertOf({ name, subject, message, since }), state }, async () => {
      await store.alerts.markUnsent(name, subject, !isNew);
    });
  }

  /** Times findings by this process's own clock, because the clock of the machine that wrote `foundAt` may be wrong. */
  #findingsOf(raised: readonly KeptAlert[]): ReadonlyMap<string, Finding> {
    const knownSince = this.#parts.clock.elapsed();
    return new Map(
      raised.map((alert) => {
        const known = this.#findings.get(keyOf(alert));
        const { foundAt } = alert;
        return [keyOf(alert), known?.foundAt === foundAt ? known : { foundAt, knownSince }];
      }),
    );
  }

  #mayEnd(alert: KeptAlert, wasFound: boolean): boolean {
    const isForOthers = alert.isNotified && this.#parts.notify === undefined;
    if (wasFound && !isForOthers) return true;
    const finding = this.#findings.get(keyOf(alert));
    const unfoundFor = finding ? this.#parts.clock.elapsed() - finding.knownSince : 0;
    return unfoundFor >= (isForOthers ? leftAfter : goneAfter);
  }

  async #end(alert: KeptAlert & { readonly name: AlertName }): Promise<void> {
    const { store, telemetry, clock } = this.#parts;
    const { name, subject, since } = alert;
    const ended = await store.alerts.end(name, subject);
    if (!ended) return;
    telemetry.report('alert_over', { alert: name, ...about(name, subject) });
    if (!ended.isNotified) return;
    const over = `It is over, after ${inWords(Math.max(0, clock.now() - since))}.`;
    const message = isAboutGroup(name) ? `${over} It was: ${alert.message}` : over;
    this.#notifications.sendEnd(keyOf(alert), { ...alertOf(alert), message, state: 'over' });
  }
}

/** The raised alerts of an inbox, also without a running receiver. */
export async function raisedAlerts(alerts: AlertStore): Promise<readonly RaisedAlert[]> {
  return (await alerts.list()).filter(isKnown).map(alertOf);
}

function keyOf({ name, subject }: Pick<KeptAlert, 'name' | 'subject'>): string {
  return `${name} ${subject}`;
}

/** Another version may have raised alerts that this one doesn't know. */
function isKnown(alert: KeptAlert): alert is KeptAlert & { readonly name: AlertName } {
  return (alertNames as readonly string[]).includes(alert.name);
}

function isSame(one: Condition, other: KeptAlert): boolean {
  return one.name === other.name && one.subject === other.subject;
}

function alertOf({
  name,
  subject,
  since,
  message,
}: Pick<KeptAlert, 'subject' | 'since' | 'message'> & { readonly name: AlertName }): RaisedAlert {
  return { name, subject: subject === '' ? undefined : subject, since: new Date(since), message };
}

function about(name: AlertName, subject: string): { readonly handler?: string; readonly failure?: string } {
  if (subject === '') return {};
  return isAboutGroup(name) ? { failure: subject } : { handler: subject };
}
