import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SandboxOptions, type Seed, createSandbox } from '../../src/sandbox/index.ts';
import { listening } from '../support/servers.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { ask, startedSandbox } from './support.ts';
import { twoTenants } from './tenants.ts';

describe('an invalid seed', () => {
  const organization = (parts: object) => ({ organizations: [{ id: 'org_1', name: 'One', ...parts }] });
  const key = 'a_key_that_is_confidential';

  it.each([
    ['the whole', null],
    ['organizations', {}],
    ['organizations', { organizations: [] }],
    ['organization', { organizations: [{ id: 'org_1', name: 'One' }], organization: [] }],
    ['organizations.0.name', { organizations: [{ id: 'org_1' }] }],
    ['organizations.0.user', organization({ user: [] })],
    ['organizations.0.users.0', organization({ users: [key] })],
    ['organizations.0.users.0.keys.0', organization({ users: [{ id: 'u', name: 'U', keys: [`${key} `] }] })],
    [
      'organizations.0.agents.0.workspace_id',
      organization({ agents: [{ id: 'a', name: 'A', workspace_id: 'w' }] }),
    ],
    [
      'organizations.0.knowledge_bases.0.user_id',
      organization({ knowledge_bases: [{ id: 'k', name: 'K', user_id: 'u' }] }),
    ],
    [
      'organizations.0.knowledge_bases.0.status',
      organization({ knowledge_bases: [{ id: 'k', name: 'K', status: 'x' }] }),
    ],
    [
      'organizations "org_1"',
      {
        organizations: [
          { id: 'org_1', name: 'A' },
          { id: 'org_1', name: 'B' },
        ],
      },
    ],
    [
      'users "u"',
      organization({
        users: [
          { id: 'u', name: 'U' },
          { id: 'u', name: 'V' },
        ],
      }),
    ],
    [
      'each of the keys',
      organization({
        users: [
          { id: 'u', name: 'U', keys: [key] },
          { id: 'v', name: 'V', keys: [key] },
        ],
      }),
    ],
  ])('is refused, and %s named', (place, seed) => {
    const make = () => createSandbox({ seed: seed as unknown as Seed });
    const message = expect.stringContaining(`In the seed, ${place} should be`);
    expect(make).toThrow(expect.objectContaining({ code: 'seed_invalid', message }));
    expect(make).not.toThrow(key);
  });
});

it.each([
  [[{ id: 'org_1' }], 'should be text that is not empty, but is missing.'],
  [[{ id: 'org_1', name: '' }], 'should be text that is not empty, but is empty.'],
  [[{ id: 'org_1', name: 7 }], 'should be text that is not empty, but is something else.'],
])('a seed with %j is told what is there instead', (organizations, sentence) => {
  expect(() => createSandbox({ seed: { organizations } as unknown as Seed })).toThrow(sentence);
});

describe('the schema of seeds', () => {
  const text = readFileSync(new URL('../../schemas/sandbox-seed.schema.json', import.meta.url), 'utf8');
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(text) as object);

  it('takes what a sandbox takes', () => {
    const seed = { $schema: './sandbox-seed.schema.json', ...twoTenants };
    expect(validate(seed)).toBe(true);
    expect(() => createSandbox({ seed })).not.toThrow();
  });

  it('refuses what a sandbox refuses', () => {
    for (const wrong of [{}, { organizations: [] }, { ...twoTenants, more: 1 }]) {
      expect(validate(wrong)).toBe(false);
      expect(() => createSandbox({ seed: wrong as Seed })).toThrow(/In the seed/);
    }
  });
});

describe('an invalid option', () => {
  it.each([
    ['port', { port: 65_536 }],
    ['host', { host: '0.0.0.0' }],
    ['host', { host: 'example.com' }],
    ['speed', { speed: 0 }],
    ['database', { database: '' }],
    ['scheme', { scheme: 'mine' }],
    ['adversary', { adversary: 'yes' }],
    ['logger', { logger: () => {} }],
    ['clock', { clock: {} }],
  ])('is refused, and %s named: %j', (option, options) => {
    const message = expect.stringContaining(`The option ${option}`);
    const make = () => createSandbox(options as unknown as SandboxOptions);
    expect(make).toThrow(expect.objectContaining({ code: 'option_invalid', message }));
  });

  it('is refused when there is none of its name, and the one that was meant is named', () => {
    const make = () => createSandbox({ databse: 'a' } as unknown as SandboxOptions);
    expect(make).toThrow(/Did you mean database\?/);
  });
});

describe('starting and stopping', () => {
  it('has an address in between only, and starts once', async () => {
    const sandbox = createSandbox();
    expect(() => sandbox.url).toThrow(expect.objectContaining({ code: 'sandbox_not_running' }));
    await sandbox.start();
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await expect(sandbox.start()).rejects.toMatchObject({ code: 'sandbox_started' });
    await Promise.all([sandbox.stop(), sandbox.stop()]);
    expect(() => sandbox.url).toThrow(expect.objectContaining({ code: 'sandbox_not_running' }));
    await expect(sandbox.start()).rejects.toMatchObject({ code: 'sandbox_started' });
  });

  it('plays no call before it has started, which would happen twice', async () => {
    const sandbox = createSandbox();
    onTestFinished(() => sandbox.stop());
    const starting = sandbox.start();
    const problem = expect.objectContaining({ code: 'sandbox_not_running' });
    expect(() => sandbox.url).toThrow(problem);
    expect(() => sandbox.calls.begin({ duration: 0 })).toThrow(problem);
    await starting;
    expect(sandbox.attempts.list()).toEqual([]);
  });

  it('stopped before it listens, it never does', async () => {
    const database = temporaryDatabase();
    const sandbox = createSandbox({ database });
    await Promise.all([sandbox.start(), sandbox.stop()]);
    expect(() => sandbox.url).toThrow(expect.objectContaining({ code: 'sandbox_not_running' }));
    await startedSandbox({ database });
  });

  it('on a port that is taken is a problem, and leaves the database free', async () => {
    const port = await listening(() => {});
    const database = temporaryDatabase();
    await expect(startedSandbox({ port, database })).rejects.toMatchObject({ code: 'port_in_use' });
    await startedSandbox({ database });
  });

  it('listens on IPv6 as well', async () => {
    const sandbox = await startedSandbox({ host: '::1' });
    expect(sandbox.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await ask(sandbox, 'GET /sandbox/attempts')).status).toBe(200);
  });

  it('answers a request that is in flight when it stops', async () => {
    const sandbox = await startedSandbox();
    const playing = ask(sandbox, 'POST /sandbox/calls', { body: { callId: 'call_1', duration: '1h' } });
    await expect.poll(() => sandbox.calls.get('call_1')?.callId).toBe('call_1');
    await sandbox.stop();
    expect([200, 503]).toContain((await playing).status);
  });
});
