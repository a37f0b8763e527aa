/** Tells of an alert: calls the user's function, or sends a webhook. */
import { randomUUID } from 'node:crypto';
import { unlessAborted } from '../../kit/aborting.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import { type Alert, type AlertWebhook, type Notify, alertScheme } from '../../receiver/alert-options.ts';
import { sign } from '../../signature/sign.ts';

/** How long an answer to a webhook may take, in milliseconds. */
const answerTimeout = 5_000;

/** Tells of an alert. Rejects if it could not be told. */
export async function tell(
  alert: Alert,
  notify: Notify,
  { now, stop }: { readonly now: number; readonly stop: AbortSignal },
): Promise<void> {
  if (typeof notify !== 'function')
    return send(alert, typeof notify === 'string' ? { url: notify } : notify, { now, stop });
  await unlessAborted(stop, () => notify(alert));
}

/**
 * Slack and others take `text`; programs read `alert`. A redirect is refused: nobody who is not named in the options is to get
 * what is sent.
 */
async function send(
  alert: Alert,
  { url, secret }: AlertWebhook,
  { now, stop }: { readonly now: number; readonly stop: AbortSignal },
): Promise<void> {
  const { name, subject, state, since, message } = alert;
  // The message of an end says that it is one.
  const title = [name, subject, state === 'over' ? undefined : state].filter(Boolean).join(' ');
  const body = JSON.stringify({
    text: `Ringback: ${title}. ${message}`,
    alert: { name, subject, state, since: since.toISOString(), message },
  });
  const signature =
    secret === undefined
      ? {}
      : sign(body, { secrets: secret, scheme: alertScheme, traceId: randomUUID(), timestamp: now });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signature },
    body,
    redirect: 'error',
    signal: AbortSignal.any([stop, AbortSignal.timeout(answerTimeout)]),
  }).catch((error: unknown) => {
    throw new Error(fetchCauseOf(error));
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook was answered with ${response.status}`);
}
