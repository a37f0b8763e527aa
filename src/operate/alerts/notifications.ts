import { messageOf } from '../../kit/error-text.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Alert, Notify } from '../../receiver/alert-options.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import { sendAlert } from './notify.ts';

interface NotificationsParts {
  readonly notify: Notify | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** Sends notifications in the background, so that a slow receiver doesn't delay the checks. */
export class Notifications {
  readonly #parts: NotificationsParts;
  readonly #stop = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  /** The ends of alerts whose notification failed. The store no longer has these alerts. */
  readonly #unsentEnds = new Map<string, Alert>();

  constructor(parts: NotificationsParts) {
    this.#parts = parts;
  }

  send(alert: Alert, onFailed: () => Promise<void>): void {
    const { notify, telemetry, clock } = this.#parts;
    if (notify === undefined) return;
    const sending = sendAlert(alert, notify, { now: clock.now(), stop: this.#stop.signal })
      .catch(async (error: unknown) => {
        telemetry.report('alert_failed', { alert: alert.name, cause: messageOf(error) });
        await onFailed();
      })
      .catch(() => {})
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** `key` names the alert that is over. */
  sendEnd(key: string, end: Alert): void {
    this.send(end, async () => void this.#unsentEnds.set(key, end));
  }

  /** Skips alerts that are raised again: a late notification would say that they are over. */
  sendEndsAgain(raised: ReadonlySet<string>): void {
    const unsent = [...this.#unsentEnds];
    this.#unsentEnds.clear();
    for (const [key, end] of unsent) if (!raised.has(key)) this.sendEnd(key, end);
  }

  /** Aborts notifications in flight, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the receiver has stopped'));
    await Promise.all(this.#sending);
  }
}
