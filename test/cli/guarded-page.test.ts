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
  const ask = async (password: string | undefined, address?: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/counts`, {
      headers: headersWith(password, address),
    });
    await response.text();
    return response.status;
  };
  return { clock, receiver, port, ask };
}

function headersWith(password: string | undefined, address = '192.0.2.1'): Readonly<Record<string, string>> {
  const authorization = password && `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;
  return { 'x-forwarded-for': address, ...(authorization && { authorization }) };
}

test.each([
  [undefined, 401, 'unauthorized'],
  ['hunter2', 429, 'too_many_attempts'],
])('with the password %s, the API answers %i with its error body', async (password, status, code) => {
  const { port, ask } = await served();
  if (password !== undefined) await askTimes(30, () => ask(password));
  const at = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: headersWith(password) });
    expect(response.status).toBe(status);
    return { type: response.headers.get('content-type'), text: await response.text() };
  };
  for (const path of ['/api', '/api/counts', '/api/events?limit=1']) {
    const { type, text } = await at(path);
    expect(type).toBe('application/json; charset=utf-8');
    expect(JSON.parse(text)).toEqual({ error: { code, message: expect.any(String) } });
  }
  expect((await at('/')).type).toBe('text/plain; charset=utf-8');
});

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
