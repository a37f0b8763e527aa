import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { ManualClock } from '../support/clock.ts';
import { verify } from '../support/public.ts';
import { type Destination, type Received, destination } from './destination.ts';
import { ask, startedSandbox } from './support.ts';

const path = '/v1/public/webhook/subscription';
const scheme = 't-v1-hex-whole';

interface Body {
  readonly id: string;
  readonly active: boolean;
  readonly signing_enabled: boolean;
  readonly secret?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const unsigned = {
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  active: true,
  enable_signed_webhooks: false,
};
const signed = { ...unsigned, enable_signed_webhooks: true };

/** Creates a subscription, replaces it with one whole configuration after the other, and returns all answers. */
async function steps(sandbox: Sandbox, [first, ...rest]: readonly object[]): Promise<Body[]> {
  const { json } = await ask(sandbox, `POST ${path}`, { body: first });
  const answers = [json as Body];
  for (const body of rest) answers.push(await replace(sandbox, answers[0]?.id, body));
  return answers;
}

async function replace(sandbox: Sandbox, id: string | undefined, body: object): Promise<Body> {
  const { status, json } = await ask(sandbox, `PUT ${path}/${id}`, { body });
  expect(status).toBe(200);
  return json as Body;
}

describe('signing', () => {
  it('unsigned → signed: a new secret, in this answer only', async () => {
    const sandbox = await startedSandbox();
    const [before, after] = await steps(sandbox, [unsigned, signed]);
    expect(before).toMatchObject({ signing_enabled: false });
    expect(before).not.toHaveProperty('secret');
    expect(after).toMatchObject({ signing_enabled: true, secret: expect.stringMatching(/^whsec_/) });
    const read = await ask(sandbox, `GET ${path}/${before?.id}`);
    expect(read.json).not.toHaveProperty('secret');
  });

  it('signed → signed: no new secret', async () => {
    const [before, after] = await steps(await startedSandbox(), [signed, signed]);
    expect(before).toHaveProperty('secret');
    expect(after).toMatchObject({ signing_enabled: true });
    expect(after).not.toHaveProperty('secret');
  });

  it('signed → unsigned → signed: another secret than the first', async () => {
    const [first, off, again] = await steps(await startedSandbox(), [signed, unsigned, signed]);
    expect(off).toMatchObject({ signing_enabled: false });
    expect(off).not.toHaveProperty('secret');
    expect(again?.secret).toMatch(/^whsec_/);
    expect(again?.secret).not.toBe(first?.secret);
  });

  it('without enable_signed_webhooks a replacement is answered with 400, and changes nothing', async () => {
    const sandbox = await startedSandbox();
    const [before] = await steps(sandbox, [signed]);
    const { enable_signed_webhooks: _left, ...body } = { ...signed, name: 'other' };
    const { status, json } = await ask(sandbox, `PUT ${path}/${before?.id}`, { body });
    expect([status, json]).toMatchObject([400, { details: { enable_signed_webhooks: 'Should be given' } }]);
    const read = await ask(sandbox, `GET ${path}/${before?.id}`);
    expect(read.json).toMatchObject({ name: 'calls', signing_enabled: true });
  });
});

describe('the secret that deliveries are signed with', () => {
  /** Which of these secrets have signed the next delivery, and how many signatures it has altogether. */
  async function signers(sandbox: Sandbox, { received }: Destination, secrets: readonly string[]) {
    await sandbox.calls.play({ scenario: 'unanalysed' });
    const { headers, bytes }: Pick<Received, 'headers' | 'bytes'> = received.at(-1) ?? {
      headers: {},
      bytes: Buffer.alloc(0),
    };
    const signatures = String(headers['x-webhook-signature'])
      .split(',')
      .filter((item) => item.startsWith('v1='));
    const verifying = secrets.filter((one) => verify(bytes, headers, { secrets: one, signature: scheme }).ok);
    return { verifying, signatures: signatures.length };
  }

  it('stays the same while signed stays signed, and is forgotten with the one before when signing ends', async () => {
    const [sandbox, calls] = [await startedSandbox({ speed: 1_000_000 }), await destination()];
    const [on, off] = [
      { ...signed, url: calls.url },
      { ...unsigned, url: calls.url },
    ];
    const [first] = await steps(sandbox, [on, on]);
    const { id = '', secret: one = '' } = first ?? {};
    expect(await signers(sandbox, calls, [one])).toEqual({ verifying: [one], signatures: 1 });
    const { json } = await ask(sandbox, `POST ${path}/${id}/rotate/secret`);
    const { secret: two = '' } = json as Body;
    await replace(sandbox, id, on);
    expect(await signers(sandbox, calls, [one, two])).toEqual({ verifying: [one, two], signatures: 2 });
    await replace(sandbox, id, off);
    expect(await signers(sandbox, calls, [one, two])).toEqual({ verifying: [], signatures: 0 });
    const { secret: three = '' } = await replace(sandbox, id, on);
    expect(await signers(sandbox, calls, [one, two, three])).toEqual({ verifying: [three], signatures: 1 });
  });
});

describe('rotating the secret', () => {
  it('answers exactly the new secret and until when the one before counts: 72 hours', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const sandbox = await startedSandbox({ clock });
    const [before] = await steps(sandbox, [signed]);
    const { status, json } = await ask(sandbox, `POST ${path}/${before?.id}/rotate/secret`);
    expect(status).toBe(200);
    expect(json).toStrictEqual({
      secret: expect.stringMatching(/^whsec_/),
      previous_secret_expires_at: '2026-01-04T00:00:00.000Z',
    });
    expect((json as Body).secret).not.toBe(before?.secret);
  });

  it('leaves everything else as it was, and reading returns no secret', async () => {
    const sandbox = await startedSandbox({ clock: new ManualClock(Date.UTC(2026, 0, 1)) });
    const [before] = await steps(sandbox, [{ ...signed, description: 'Orders', active: false }]);
    await ask(sandbox, `POST ${path}/${before?.id}/rotate/secret`);
    const { json } = await ask(sandbox, `GET ${path}/${before?.id}`);
    const { secret: _secret, ...rest } = before as Body;
    expect(json).toStrictEqual(rest);
  });

  it('of an unsigned subscription is answered with 400', async () => {
    const sandbox = await startedSandbox();
    const [before] = await steps(sandbox, [unsigned]);
    const { status, json } = await ask(sandbox, `POST ${path}/${before?.id}/rotate/secret`);
    expect([status, json]).toMatchObject([400, { status: 400, type: 'VALIDATION_ERROR' }]);
  });
});

describe('pausing', () => {
  it('active → paused → active', async () => {
    const answers = await steps(await startedSandbox(), [signed, { ...signed, active: false }, signed]);
    expect(answers.map(({ active }) => active)).toEqual([true, false, true]);
    expect(answers.map(({ signing_enabled: isSigned }) => isSigned)).toEqual([true, true, true]);
  });
});

describe('a replacement', () => {
  it('clears what is left out', async () => {
    const sandbox = await startedSandbox();
    const everything = {
      ...unsigned,
      description: 'Orders',
      events: ['CallHandler.CallEnded'],
      headers: { 'X-Shop': '7' },
      workspace_ids: ['workspace_1'],
    };
    const [before, after] = await steps(sandbox, [everything, unsigned]);
    expect(before).toMatchObject({
      scope: 'WORKSPACE',
      description: 'Orders',
      events: ['CallHandler.CallEnded'],
    });
    expect(after).toMatchObject({ scope: 'ORGANIZATION', events: [] });
    for (const field of ['description', 'headers', 'workspace_ids', 'agent_ids']) {
      expect(after).not.toHaveProperty(field);
    }
  });

  it('keeps the id, who created it and when, and reports when it was changed', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const sandbox = await startedSandbox({ clock });
    const [before] = await steps(sandbox, [unsigned]);
    clock.advance(1_500);
    const after = await replace(sandbox, before?.id, { ...unsigned, name: 'other' });
    expect(after).toStrictEqual({ ...before, name: 'other', updated_at: '2026-01-01T00:00:01.500Z' });
    expect(before?.created_at).toBe('2026-01-01T00:00:00.000Z');
  });

  it('may keep its own name, and can’t take that of another', async () => {
    const sandbox = await startedSandbox();
    const [one] = await steps(sandbox, [unsigned, unsigned]);
    await steps(sandbox, [{ ...unsigned, name: 'other' }]);
    const { status, json } = await ask(sandbox, `PUT ${path}/${one?.id}`, {
      body: { ...unsigned, name: 'other' },
    });
    expect([status, json]).toMatchObject([400, { details: { name: expect.stringContaining('unique') } }]);
    expect((await ask(sandbox, `GET ${path}/${one?.id}`)).json).toMatchObject({ name: 'calls' });
  });

  it.each([
    ['name', { name: ' \t' }],
    ['name', { name: undefined }],
    ['description', { description: 'x'.repeat(1_501) }],
    ['url', { url: 'ftp://calls.example.com' }],
    ['url', { url: undefined }],
    ['active', { active: undefined }],
    ['events.0', { events: ['CallEnded'] }],
    ['headers.X-Shop', { headers: { 'X-Shop': 7 } }],
  ])('with a wrong %s is answered with 400, and changes nothing: %j', async (place, wrong) => {
    const sandbox = await startedSandbox();
    const [before] = await steps(sandbox, [unsigned]);
    const at = `${path}/${before?.id}`;
    const { status, json } = await ask(sandbox, `PUT ${at}`, { body: { ...unsigned, ...wrong } });
    expect([status, json]).toMatchObject([400, { type: 'VALIDATION_ERROR', path: at }]);
    expect(Object.keys((json as { details: object }).details)).toEqual([place]);
    expect((await ask(sandbox, `GET ${at}`)).json).toStrictEqual(before);
  });
});
