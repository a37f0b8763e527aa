import { describe, expect, test } from 'vitest';
import { guardedPage } from '../../src/cli/serve/guarded-page.ts';
import { ManualClock } from '../support/clock.ts';
import { deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';

const token = 'a token that nobody can guess';

/** The page of `ringback serve` behind a proxy: asks it with a password, from an address. */
async function served() {
  const clock = new ManualClock();
  const { receiver } = await started({ clock, https: { trustProxy: 'loopback' } });
  const port = await listening(guardedPage(receiver, token));
  const ask = async (password: string | undefined, address = '192.0.2.1') => {
    const authorization = password && `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;
    const headers = { 'x-forwarded-for': address, ...(authorization && { authorization }) };
    const response = await fetch(`http://127.0.0.1:${port}/api/counts`, { headers });
    await response.text();
    return response.status;
  };
  return { clock, receiver, ask };
}

async function askTimes(times: number, ask: () => Promise<number>): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let asked = 0; asked < times; asked += 1) statuses.push(await ask());
  return statuses;
}

describe('wrong passwords', () => {
  test('of one network are limited, and then its right one is not checked either', async () => {
    const { clock, receiver, ask } = await served();
    const wrong = await askTimes(31, () => ask('hunter2'));
    expect(wrong).toEqual([...Array.from({ length: 30 }, () => 401), 429]);
    expect(await ask(token)).toBe(429);
    expect(await ask(undefined)).toBe(429);
    expect(await ask(token, '192.0.2.2')).toBe(200);
    expect(await deliver(receiver)).toMatchObject({ status: 200 });
    clock.advance(1_000);
    expect(await ask(token)).toBe(200);
    expect(await ask('hunter2')).toBe(401);
    expect(await ask('hunter2')).toBe(429);
  });

  test('of an IPv6 network are counted together', async () => {
    const { ask } = await served();
    let host = 0;
    const wrong = await askTimes(31, () => ask('hunter2', `2001:db8::${(host += 1).toString(16)}`));
    expect(wrong.at(-1)).toBe(429);
    expect(await ask(token, '2001:db8:0:1::1')).toBe(200);
  });

  test('are not those of a browser that has not asked for one yet, or of whoever is let in', async () => {
    const { ask } = await served();
    expect(new Set(await askTimes(40, () => ask(undefined)))).toEqual(new Set([401]));
    expect(new Set(await askTimes(40, () => ask(token)))).toEqual(new Set([200]));
  });
});
