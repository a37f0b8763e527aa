import type { Sandbox } from '../../src/sandbox/index.ts';
import { ask } from './support.ts';

/** A subscription as the API answers, as far as these tests look at it. */
export interface Subscribed {
  readonly id: string;
  /** Empty when it isn't signed. */
  readonly secret: string;
}

const path = '/v1/public/webhook/subscription';
let count = 0;

/** Subscribes an address to every event, signed, unless the fields say otherwise. */
export async function subscribed(
  sandbox: Sandbox,
  url: string,
  fields: Readonly<Record<string, unknown>> = {},
  key?: string,
): Promise<Subscribed> {
  count += 1;
  const body = { name: `subscription ${count}`, url, active: true, enable_signed_webhooks: true, ...fields };
  const { status, text, json } = await ask(sandbox, `POST ${path}`, {
    body,
    ...(key !== undefined && { key }),
  });
  if (status !== 201) throw new Error(`The subscription was answered with ${status}: ${text}`);
  const { id, secret = '' } = json as { readonly id: string; readonly secret?: string };
  return { id, secret };
}

/** Changes some of a subscription's fields. */
export async function changed(
  sandbox: Sandbox,
  { id, secret }: Subscribed,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const read = await ask(sandbox, `GET ${path}/${id}`);
  const { name, url, active, events } = read.json as Readonly<Record<string, unknown>>;
  const body = { name, url, active, events, enable_signed_webhooks: secret !== '', ...fields };
  const { status, text } = await ask(sandbox, `PUT ${path}/${id}`, { body });
  if (status !== 200) throw new Error(`The change was answered with ${status}: ${text}`);
}

/** Rotates a subscription's secret; resolves to the new one. */
export async function rotated(sandbox: Sandbox, { id }: Subscribed): Promise<string> {
  const { json } = await ask(sandbox, `POST ${path}/${id}/rotate/secret`);
  return (json as { readonly secret: string }).secret;
}

/** Deletes a subscription. */
export async function deleted(sandbox: Sandbox, { id }: Subscribed): Promise<void> {
  await ask(sandbox, `DELETE ${path}/${id}`);
}
