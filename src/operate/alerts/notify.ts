/** Notifies somebody of an alert: calls the user's function, or sends a webhook. */
import { randomUUID } from 'node:crypto';
import { underSignals, unlessAborted } from '../../kit/aborting.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import { type Alert, type AlertWebhook, type Notify, alertScheme } from '../../receiver/alert-options.ts';
import { sign } from '../../signature/sign-and-verify.ts';
import { isAboutGroup } from './facts.ts';

/** The timeout of a webhook, in milliseconds. */
const answerTimeout = 5_000;

/** Notifies somebody of an alert. Rejects if that fails. */
export async function sendAlert(
  alert: Alert,
  notify: Notify,
  { now, stop }: { readonly now: number; readonly stop: AbortSignal },
): Promise<void> {
  if (typeof notify !== 'function')
    return post(alert, typeof notify === 'string' ? { url: notify } : notify, { now, stop });
  await unlessAborted(stop, () => notify(alert));
}

/** Slack shows `text`; programs read `alert`. Redirects are refused: only the given address may get the alert. */
async function post(
  alert: Alert,
  { url, secret }: AlertWebhook,
  { now, stop }: { readonly now: number; readonly stop: AbortSignal },
): Promise<void> {
  const { name, subject, state, since, message } = alert;
  const about = isAboutGroup(name) ? undefined : subject;
  // The message of an ended alert says that it is over.
  const title = [name, about, state === 'over' ? undefined : state].filter(Boolean).join(' ');
  const body = JSON.stringify({
    text: `Ringback: ${title}. ${message}`,
    alert: { name, subject, state, since: since.toISOString(), message },
  });
  const signature =
    secret === undefined
      ? {}
      : sign(body, { secrets: secret, scheme: alertScheme, traceId: randomUUID(), timestamp: now });
  // Not by AbortSignal.any: Node 22.14 collects a timeout that only its signal refers to, and the request never ends.
  const response = await underSignals([stop, AbortSignal.timeout(answerTimeout)], ({ signal }) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signature },
      body,
      redirect: 'error',
      signal,
    }),
  ).catch((error: unknown) => {
    throw new Error(fetchCauseOf(error));
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook was answered with ${response.status}`);
}
