import { readdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { verify } from '../../src/index.ts';
import { listening } from '../support/servers.ts';
import type { Attempt } from '../../src/sandbox/index.ts';
import { HostedCommand, Running, folder, ringback } from './command.ts';

const seed = {
  organizations: [
    {
      id: 'org_seed',
      name: 'Seed',
      users: [{ id: 'user_seed', name: 'Ada', keys: ['key_of_the_seed'] }],
      knowledge_bases: [{ id: 'kb_seed', name: 'Handbook' }],
    },
  ],
};

/** Starts `ringback sandbox` on a port of the system's choosing. */
function sandbox(args: readonly string[] = [], setting?: { readonly cwd: string }): HostedCommand {
  return new HostedCommand(['sandbox', '--port', '0', ...args], setting);
}

/** The sandbox's address and its API key. */
interface Opened {
  readonly url: string;
  readonly apiKey?: string | undefined;
}

async function opened(running: HostedCommand): Promise<Opened> {
  const { url, apiKey } = await running.logged('listening');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  return { url: String(url), ...(typeof apiKey === 'string' && { apiKey }) };
}

/** The status of the answer to a request for a knowledge base. */
async function knowledgeBase({ url, apiKey }: Opened, id: string): Promise<number> {
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${url}/api/v1/knowledge-bases/${id}`, { headers });
  await response.arrayBuffer();
  return response.status;
}

/** Subscribes an address, and resolves to the secret. */
async function subscribe({ url, apiKey }: Opened, destination: string): Promise<string> {
  const response = await fetch(`${url}/v1/public/webhook/subscription`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'test',
      url: destination,
      active: true,
      enable_signed_webhooks: true,
      events: [],
    }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { secret: string }).secret;
}

/**
 * The attempts of four calls, with what the adversary with this seed does with each. On a busy machine, one may run out of
 * its second and be made again, which is no trouble of the adversary's: then it is all done once more.
 */
async function troubleOf(adversary: string): Promise<readonly string[]> {
  for (;;) {
    const attempts = await attemptsWith(adversary);
    if (attempts.some(({ failure }) => failure === 'timeout')) continue;
    return attempts
      .map(({ traceId, number, disturbance = '' }) => `${traceId} ${number} ${disturbance}`)
      .sort();
  }
}

async function attemptsWith(adversary: string): Promise<readonly Attempt[]> {
  const port = await listening((request, response) => {
    request.resume().on('end', () => response.end());
  });
  const running = sandbox(['--adversary', adversary, '--speed', '1000']);
  const { url, apiKey } = await opened(running);
  await subscribe({ url, apiKey }, `http://127.0.0.1:${port}/`);
  const ask = (line: string) => {
    const [method = '', path = ''] = line.split(' ');
    return fetch(`${url}/sandbox/${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } });
  };
  for (let call = 1; call <= 4; call += 1) expect((await ask('POST calls')).status).toBe(200);
  const { attempts } = (await (await ask('GET attempts')).json()) as { attempts: readonly Attempt[] };
  await running.stop();
  return attempts;
}

describe('the sandbox', () => {
  it('prints its address and its key, and runs until SIGTERM', { tags: 'long' }, async () => {
    const running = sandbox();
    const { url, apiKey = '' } = await opened(running);
    expect(await knowledgeBase({ url, apiKey }, 'kb_demonstration')).toBe(200);
    expect(await knowledgeBase({ url }, 'kb_demonstration')).toBe(401);
    const { code, stdout, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.match(/"event":"listening"/g)).toHaveLength(1);
  });

  it('says it at any level of the log, and ends at SIGINT', { tags: 'long' }, async () => {
    const running = new Running(['sandbox', '--port', '0'], { env: { RINGBACK_LOG_LEVEL: 'silent' } });
    expect(await running.logged('listening')).toMatchObject({ apiKey: expect.any(String) });
    running.child.kill('SIGINT');
    expect((await running.ended()).code).toBe(0);
  });

  it('keeps its state in a database, whose key it prints once', async () => {
    const cwd = folder();
    const first = sandbox(['--database', 'sandbox.db'], { cwd });
    const { apiKey = '' } = await opened(first);
    expect((await first.stop()).code).toBe(0);
    const second = sandbox(['--database', 'sandbox.db'], { cwd });
    const again = await opened(second);
    expect(again.apiKey).toBeUndefined();
    await second.said('use the apiKey that was shown when it was new');
    expect(await knowledgeBase({ ...again, apiKey }, 'kb_demonstration')).toBe(200);
  });

  it('says when a seed is not used, because the database is not new', async () => {
    const cwd = folder({ 'seed.json': JSON.stringify(seed) });
    const args = ['--database', 'sandbox.db', '--seed', 'seed.json'];
    const said: string[] = [];
    for (const _ of ['new', 'existing']) {
      const running = sandbox(args, { cwd });
      await opened(running);
      said.push((await running.stop()).stderr);
    }
    const sentence = 'the seed was not used: the database sandbox.db is not new, and was not changed';
    expect(said).toEqual(['', `ringback: ${sentence}\n`]);
  });

  it('begins with what a seed has, and leaves no file without a database', async () => {
    const cwd = folder({ 'seed.json': JSON.stringify(seed) });
    const running = sandbox(['--seed', 'seed.json'], { cwd });
    const { url, apiKey } = await opened(running);
    expect(apiKey).toBeUndefined();
    expect(await knowledgeBase({ url, apiKey: 'key_of_the_seed' }, 'kb_seed')).toBe(200);
    await running.stop();
    expect(readdirSync(cwd)).toEqual(['seed.json']);
  });

  it('plays calls, delivers their events signed, logs every attempt, and ends amid it all', async () => {
    const received: { readonly body: Buffer; readonly headers: IncomingMessage['headers'] }[] = [];
    const port = await listening((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push({ body: Buffer.concat(chunks), headers: request.headers });
        response.end();
      });
    });
    const running = sandbox(['--calls-per-minute', '60', '--speed', '100', '--scheme', 'v1-base64-whole']);
    const secret = await subscribe(await opened(running), `http://127.0.0.1:${port}/`);
    // On a busy machine, those before it may have run out of the second that the platform waits.
    const attempt: unknown = JSON.parse(await running.line('"attempt":1,"status":200'));
    const [delivery] = received;
    if (!delivery) throw new Error('The attempt was logged before there was any.');
    expect(attempt).toMatchObject({ event: 'delivery_attempted', attempt: 1, status: 200, level: 30 });
    expect(
      verify(delivery.body, delivery.headers, { secrets: secret, signature: 'v1-base64-whole' }).ok,
    ).toBe(true);
    const { code, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it(
    'plays the same calls with the same disturbances for the same seed of the adversary',
    { tags: 'long' },
    async () => {
      const trouble = await troubleOf('replay');
      expect(await troubleOf('replay')).toEqual(trouble);
      expect(await troubleOf('another')).not.toEqual(trouble);
    },
  );

  it('says the seed of an adversary that was given none', async () => {
    const line = await sandbox(['--adversary']).logged('listening');
    expect(line['adversary']).toMatch(/^\S+$/);
  });
});

/** Runs the sandbox, which must end with a sentence: one line, no stack, no key. */
async function sentenceOf(args: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await ringback(['sandbox', ...args], { cwd: folder(files) });
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^ringback: .*\n$/);
  expect(stderr).not.toContain('key_of_');
  return { code, sentence: stderr.slice('ringback: '.length, -1) };
}

describe('the sandbox ends with a sentence and 1 when', () => {
  it.each([
    [
      'the seed is missing',
      ['--seed', 'none.json'],
      {},
      /^The seed file none\.json should be .* but: there is no such file\. /,
    ],
    [
      'the seed is no JSON',
      ['--seed', 'seed.json'],
      { 'seed.json': '{"keys": key_of_nobody' },
      /^The seed file seed\.json should be a JSON file that this process can read, but: it is not JSON\. /,
    ],
    [
      'the seed is none',
      ['--seed', 'seed.json'],
      { 'seed.json': JSON.stringify({ organizations: [{ ...seed.organizations[0], user: [] }] }) },
      /^In the seed, organizations\.0\.user should be a field that seeds have/,
    ],
    [
      'the database is none',
      ['--database', 'seed.json'],
      { 'seed.json': JSON.stringify(seed) },
      /^The database seed\.json should be a SQLite file/,
    ],
    [
      'the folder of the database is missing',
      ['--database', 'none/sandbox.db'],
      {},
      /^The database none\/sandbox\.db /,
    ],
  ])('%s', async (_what, args, files, expected) => {
    const { code, sentence } = await sentenceOf(['--port', '0', ...args], files);
    expect(sentence).toMatch(expected);
    expect(code).toBe(1);
  });

  it('there is no agent to call', async () => {
    const noAgents = { 'seed.json': JSON.stringify(seed) };
    const args = ['sandbox', '--port', '0', '--seed', 'seed.json', '--calls-per-minute', '60'];
    const { code, stderr } = await ringback(args, { cwd: folder(noAgents) });
    expect(stderr).toMatch(/^ringback: The option .* should be an organization with an agent, .*\n$/);
    expect(code).toBe(1);
  });

  it('the port is in use', async () => {
    const port = await listening(() => {});
    const { code, sentence } = await sentenceOf(['--port', String(port)]);
    expect(sentence).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}, because that port is in use`));
    expect(code).toBe(1);
  });

  it('another sandbox has the database', { tags: 'long' }, async () => {
    const cwd = folder();
    await sandbox(['--database', 'sandbox.db'], { cwd }).logged('listening');
    const { code, stderr } = await ringback(['sandbox', '--port', '0', '--database', 'sandbox.db'], { cwd });
    expect(stderr).toMatch(/^ringback: The database sandbox\.db should be .*\n$/);
    expect(code).toBe(1);
  });
});

describe('the sandbox ends with a sentence and 2 when', () => {
  it.each([
    ['--port', '65536', 'It should be a port'],
    ['--speed', '0', 'It should be a number above 0, at most 1,000,000'],
    ['--speed', '1e400', 'It should be a number above 0, at most 1,000,000'],
    ['--calls-per-minute', 'many', 'It should be a number above 0, at most 1,000,000'],
    ['--scheme', 'none', 'It should be the name of a signature scheme, such as t-v1-hex-whole'],
    ['--database', '', 'It should be text that is not empty'],
    ['--seed', '', 'It should be text that is not empty'],
  ])('%s is %s', async (option, value, expected) => {
    const { code, sentence } = await sentenceOf([option, value]);
    expect(sentence).toContain(expected);
    expect(code).toBe(2);
  });
});
