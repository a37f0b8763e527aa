import { describe, expect, it, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { Logs } from '../support/logs.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination } from './destination.ts';
import { startedSandbox } from './support.ts';

const speed = 10_000;
const events = ['CallHandler.CallEnded'];

describe('strict deliveries', () => {
  test.each([
    ['plain http', (url: string) => url.replace('127.0.0.1', 'localhost'), 'url_not_https'],
    ['an IP address', (url: string) => url.replace('http:', 'https:'), 'url_is_address'],
    ['an IP address of version 6', () => 'https://[::1]:9/calls', 'url_is_address'],
    ['an IP address in other digits', () => 'https://0x7f.1:9/calls', 'url_is_address'],
  ])('to %s are given up without an attempt', async (_, addressOf, reason) => {
    const logs = new Logs();
    const sandbox = await startedSandbox({ speed, strictDeliveries: true, logger: logs.logger });
    const { url, received } = await destination();
    const { id } = await subscribed(sandbox, addressOf(url), { events });
    const { callId } = await sandbox.calls.play({ scenario: 'unanalysed' });
    expect(sandbox.attempts.list()).toEqual([]);
    expect(sandbox.deliveries.givenUp()).toMatchObject([{ callId, subscriptionId: id, attempts: 0 }]);
    const warnings = logs.lines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ event: 'delivery_given_up', callId, reason }]);
    expect(received).toEqual([]);
  });

  it('reach a domain name over https', async () => {
    const sandbox = await startedSandbox({ speed, strictDeliveries: true });
    const { url } = await destination();
    const secure = url.replace('http://127.0.0.1', 'https://localhost');
    await subscribed(sandbox, secure, { events });
    await sandbox.calls.play({ scenario: 'unanalysed' });
    // What listens there speaks no TLS: that the attempts were made is what is shown.
    expect(sandbox.attempts.list().length).toBeGreaterThan(0);
  });

  it('are off unless they are asked for', async () => {
    const sandbox = await startedSandbox({ speed });
    const { url, received } = await destination();
    await subscribed(sandbox, url, { events });
    await sandbox.calls.play({ scenario: 'unanalysed' });
    expect(received).toHaveLength(1);
  });

  it('are on or off', () => {
    const options = { strictDeliveries: 'yes' as unknown as boolean };
    expect(() => createSandbox(options)).toThrow(expect.objectContaining({ code: 'option_invalid' }));
  });
});
