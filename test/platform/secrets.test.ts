import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { secretsOf } from '../../src/cli/secrets.ts';
import { ConfigError } from '../../src/errors/errors.ts';
import {
  IssuedSecret,
  type Platform,
  SecretNotKeptError,
  type SecretToKeep,
  createPlatform,
  readSecretFile,
} from '../../src/platform/index.ts';
import { ManualClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { answered, apiKey, clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks' };
const hours = 3_600_000;

function newFile(text?: string): string {
  const file = join(temporaryFolder(), 'secrets');
  if (text !== undefined) writeFileSync(file, text, { mode: 0o644 });
  return file;
}

/** The names of what is in the folder of a secrets file: the file and its lock, and no new file that was left over. */
const filesOf = (file: string) => [basename(file), `${basename(file)}.lock`];

const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n');

async function created(platform: Platform, secretFile?: string) {
  const { subscription, secret } = await platform.subscriptions.create(wanted, { secretFile });
  if (secret === undefined) throw new Error('A signed subscription should come with its secret');
  return { id: subscription.id, secret };
}

describe('an issued secret', () => {
  it('is not printed, logged or sent on by accident', async () => {
    const { platform } = await sandboxAndPlatform();
    const result = await platform.subscriptions.create(wanted);
    const text = result.secret?.reveal() ?? '';
    expect(text).toMatch(/^whsec_.+/);
    expect(`${inspect(result, { depth: 9, showHidden: true })}${JSON.stringify(result)}`).not.toContain(
      text.slice(6),
    );
    expect(result.secret?.fingerprint).toMatch(/^[0-9a-f]{8}$/);
  });

  it('is not lost when the logger fails', async () => {
    const warn = () => {
      throw new Error('the log is full');
    };
    const { platform } = await sandboxAndPlatform({ logger: { debug: () => {}, warn } });
    const local = { ...wanted, url: 'http://localhost/' };
    const { secret, warnings } = await platform.subscriptions.create(local);
    expect(secret?.reveal()).toMatch(/^whsec_.+/);
    expect(warnings).toHaveLength(2);
  });

  it('is taken out of the answer by whatever name it comes', async () => {
    const { url } = await standIn({
      json: { ...answered, signing_secret: 'whsec_dGVzdA==', name: 'whsec_name' },
    });
    const { subscription, secret } = await clientOf(url).platform.subscriptions.create({
      ...wanted,
      name: 'whsec_name',
    });
    expect(secret?.reveal()).toBe('whsec_dGVzdA==');
    expect(subscription).toMatchObject({ name: 'whsec_name' });
    expect(subscription).not.toHaveProperty('signing_secret');
  });
});

describe('onSecret', () => {
  it('is given the secret of a creation, of enabling, and of a rotation, and is awaited', async () => {
    const { platform } = await sandboxAndPlatform();
    const kept: SecretToKeep[] = [];
    const onSecret = async (issued: SecretToKeep) => {
      await new Promise((resolve) => setImmediate(resolve));
      kept.push(issued);
    };
    const { subscription, secret: first } = await platform.subscriptions.create(wanted, { onSecret });
    expect(kept).toHaveLength(1);
    const { id } = subscription;
    await platform.subscriptions.update(
      id,
      { enable_signed_webhooks: false, headers: { a: 'b' } },
      { onSecret },
    );
    expect(kept).toHaveLength(1);
    const { secret: second } = await platform.subscriptions.enableSigning(id, { onSecret });
    expect(kept).toHaveLength(2);
    const { secret: third, previousSecretExpiresAt } = await platform.subscriptions.rotateSecret(id, {
      onSecret,
    });
    expect(kept).toEqual([
      { secret: first?.reveal(), subscriptionId: id, previousSecretExpiresAt: undefined },
      { secret: second?.reveal(), subscriptionId: id, previousSecretExpiresAt: undefined },
      { secret: third.reveal(), subscriptionId: id, previousSecretExpiresAt },
    ]);
  });

  it('is not called when nothing is issued', async () => {
    const { platform } = await sandboxAndPlatform();
    const onSecret = () => {
      throw new Error('There is no secret');
    };
    const unsigned = { ...wanted, enable_signed_webhooks: false, headers: { a: 'b' } };
    const { subscription } = await platform.subscriptions.create(unsigned, { onSecret });
    await platform.subscriptions.pause(subscription.id, { onSecret });
  });

  it('may itself write to the subscription that the secret is of', async () => {
    const { platform } = await sandboxAndPlatform();
    const { id } = await created(platform);
    await platform.subscriptions.rotateSecret(id, {
      onSecret: async ({ subscriptionId }) => void (await platform.subscriptions.pause(subscriptionId)),
    });
    expect(await platform.subscriptions.get(id)).toMatchObject({ active: false });
  });

  it('is given the secrets of one subscription in order, without delaying its other writes', async () => {
    const expires = { previous_secret_expires_at: '2026-01-04T00:00:00.000Z' };
    const { url, received } = await standIn(
      { json: { secret: 'whsec_one', ...expires } },
      { json: { secret: 'whsec_two', ...expires } },
      { status: 204 },
    );
    const { subscriptions } = clientOf(url).platform;
    const steps: string[] = [];
    const onSecret = async ({ secret }: SecretToKeep) => {
      steps.push(`${secret} begins`);
      await expect.poll(() => received.length).toBe(3);
      steps.push(`${secret} ends`);
    };
    const rotate = () => subscriptions.rotateSecret('sub_1', { onSecret });
    await Promise.all([rotate(), rotate(), subscriptions.delete('sub_1')]);
    expect(steps).toEqual(['whsec_one begins', 'whsec_one ends', 'whsec_two begins', 'whsec_two ends']);
  });

  it('is refused when it rotates the secret of its own subscription with an onSecret, before a request', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscriptions } = platform;
    const { id } = await created(platform);
    const { subscription: another } = await subscriptions.create({ ...wanted, name: 'another' });
    const kept: string[] = [];
    const rotate = async (subscriptionId: string, then?: (issued: SecretToKeep) => Promise<unknown>) => {
      const onSecret = async (issued: SecretToKeep) => {
        kept.push(issued.secret);
        await then?.(issued);
      };
      return (await subscriptions.rotateSecret(subscriptionId, { onSecret })).secret.reveal();
    };
    const nested: unknown[] = [];
    const refused = (work: () => Promise<unknown>) => work().catch((error: unknown) => nested.push(error));
    let later: Promise<string> | undefined;
    const ended = Promise.withResolvers<void>();
    const secret = await rotate(id, async () => {
      await refused(() => rotate(id));
      await rotate(another.id, () => refused(() => rotate(id)));
      later = ended.promise.then(() => rotate(id));
    });
    expect(nested).toMatchObject([{ code: 'secret_nested' }, { code: 'secret_nested' }]);
    expect(kept).toEqual([secret, expect.any(String)]);
    ended.resolve();
    // Begun inside, but after its end.
    expect(await later).toBe(kept[2]);
  });

  it('is refused when it enables signing of its own subscription with an onSecret: the error has the secret', async () => {
    const { platform } = await sandboxAndPlatform();
    const { id } = await created(platform);
    const headers = { a: 'b' };
    let failed: unknown;
    const onSecret = async () => {
      await platform.subscriptions.update(id, { enable_signed_webhooks: false, headers });
      failed = await platform.subscriptions.enableSigning(id, { onSecret }).catch((error: unknown) => error);
    };
    await platform.subscriptions.rotateSecret(id, { onSecret });
    expect(failed).toMatchObject({ code: 'secret_not_kept', message: expect.stringContaining(id) });
    expect((failed as SecretNotKeptError).secret.reveal()).toMatch(/^whsec_/);
  });

  it('fails: the error has the secret, and does not print it', async () => {
    const { platform } = await sandboxAndPlatform();
    const onSecret = ({ secret }: SecretToKeep) =>
      Promise.reject(new Error(`the vault is sealed for ${secret}`));
    const error: unknown = await platform.subscriptions
      .create(wanted, { onSecret })
      .catch((reason: unknown) => reason);
    if (!(error instanceof SecretNotKeptError))
      throw new Error('It should not have been kept', { cause: error });
    const { value: subscription } = await platform.subscriptions.list().next();
    expect(error).toMatchObject({
      code: 'secret_not_kept',
      subscriptionId: subscription?.id,
      message: expect.stringContaining('the vault is sealed for [hidden]'),
      secret: expect.any(IssuedSecret),
    });
    expect(error.secret.reveal()).toMatch(/^whsec_/);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(error.secret.reveal().slice(6));
  });

  it.each([
    ['without a keeper, in the error', undefined, 'SecretNotKeptError'],
    ['with a keeper, in its hands', () => {}, 'PlatformError'],
  ])('a secret beside an answer that can not be read is not lost: %s', async (_, onSecret, name) => {
    const { url } = await standIn({ json: { secret: 'whsec_dGVzdA==', id: 'sub_1' } });
    const kept: string[] = [];
    const keeper = onSecret && (({ secret }: SecretToKeep) => void kept.push(secret));
    const creating = clientOf(url).platform.subscriptions.create(wanted, { onSecret: keeper });
    const error = await creating.catch((reason: unknown) => reason as SecretNotKeptError);
    expect(error).toMatchObject({ name });
    const found = error instanceof SecretNotKeptError ? error.secret.reveal() : kept[0];
    expect(found).toBe('whsec_dGVzdA==');
  });
});

describe('secretFile', () => {
  it('gets the secret, readable by its owner only', async () => {
    const { platform } = await sandboxAndPlatform();
    const file = newFile();
    const { id, secret } = await created(platform, file);
    expect(linesOf(file)).toEqual([`${secret.reveal()} # subscription ${id}`, '']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file))).toEqual(filesOf(file));
  });

  it('has the new secret first, and older ones until they expire', async () => {
    const clock = new ManualClock();
    const { platform } = await sandboxAndPlatform({ clock });
    const file = newFile();
    const { id, secret: one } = await created(platform, file);
    const { secret: two, previousSecretExpiresAt: oneExpires } = await platform.subscriptions.rotateSecret(
      id,
      {
        secretFile: file,
      },
    );
    expect(linesOf(file)).toEqual([
      `${two.reveal()} # subscription ${id}`,
      `${one.reveal()} # subscription ${id}, until ${oneExpires}`,
      '',
    ]);
    clock.advance(71 * hours);
    const { secret: three } = await platform.subscriptions.rotateSecret(id, { secretFile: file });
    expect(readSecretFile(file)).toEqual([three, two, one].map((secret) => secret.reveal()));
    clock.advance(2 * hours);
    const { secret: four } = await platform.subscriptions.rotateSecret(id, { secretFile: file });
    // The sandbox uses the machine's clock, by which all rotations happened at one moment: `two` expires with `one`.
    expect(readSecretFile(file)).toEqual([four.reveal(), three.reveal()]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keeps comments, secrets of other subscriptions, and secrets without a subscription', async () => {
    const { platform } = await sandboxAndPlatform();
    const text =
      '\uFEFF# ours\r\n\r\nwhsec_YQ==, whsec_Yg== # since March\r\nwhsec_Yw== # subscription sub_9\r\n';
    const file = newFile(text);
    const { id, secret } = await created(platform, file);
    expect(linesOf(file)).toEqual([
      '# ours',
      `${secret.reveal()} # subscription ${id}`,
      'whsec_YQ== # since March',
      'whsec_Yg== # since March',
      'whsec_Yw== # subscription sub_9',
      '',
    ]);
    await platform.subscriptions.rotateSecret(id, { secretFile: file });
    expect(readSecretFile(file).slice(1)).toEqual([
      secret.reveal(),
      'whsec_YQ==',
      'whsec_Yg==',
      'whsec_Yw==',
    ]);
    expect(linesOf(file).filter((line) => line.includes('until'))).toHaveLength(1);
  });

  it('treats the only secret of a handwritten file as the one being rotated', async () => {
    const { platform } = await sandboxAndPlatform();
    const { id, secret: old } = await created(platform);
    const file = newFile(`${old.reveal()}\n`);
    const { secret, previousSecretExpiresAt } = await platform.subscriptions.rotateSecret(id, {
      secretFile: file,
    });
    expect(linesOf(file)).toEqual([
      `${secret.reveal()} # subscription ${id}`,
      `${old.reveal()} # subscription ${id}, until ${previousSecretExpiresAt}`,
      '',
    ]);
  });

  it('does not do so when another subscription is created', async () => {
    const { platform } = await sandboxAndPlatform();
    const file = newFile('whsec_YQ==\n');
    await created(platform, file);
    expect(linesOf(file).slice(1)).toEqual(['whsec_YQ==', '']);
  });

  it('keeps the secrets of several subscriptions whose ids the platform does not answer', async () => {
    const { id: _id, ...nameless } = answered;
    const { url } = await standIn(
      { json: { ...nameless, secret: 'whsec_YQ==' } },
      { json: { ...nameless, secret: 'whsec_Yg==' } },
    );
    const { subscriptions } = clientOf(url).platform;
    const file = newFile();
    await platformError(subscriptions.create(wanted, { secretFile: file }));
    await platformError(subscriptions.create({ ...wanted, name: 'others' }, { secretFile: file }));
    expect(linesOf(file)).toEqual([
      'whsec_Yg== # subscription unknown',
      'whsec_YQ== # subscription unknown',
      '',
    ]);
  });

  it('gives the secret that enabling replaces an hour', async () => {
    const clock = new ManualClock();
    const { platform } = await sandboxAndPlatform({ clock });
    const file = newFile();
    const { id, secret: old } = await created(platform, file);
    await platform.subscriptions.disableSigning(id);
    await platform.subscriptions.enableSigning(id, { secretFile: file });
    const until = new Date(clock.now() + hours).toISOString();
    expect(linesOf(file)[1]).toBe(`${old.reveal()} # subscription ${id}, until ${until}`);
  });

  it.each([
    ['is not there', undefined, 'there is no such file'],
    ['holds no secret', '# none yet\n', 'it holds no secret'],
    [
      'holds an expired secret only',
      'whsec_YQ== # subscription sub_1, until 2020-01-01T00:00:00.000Z\n',
      'every secret in it has expired',
    ],
  ])('is refused with a sentence when it %s', (_case, text, cause) => {
    const file = newFile(text);
    const reading = () => readSecretFile(file);
    expect(reading).toThrow(ConfigError);
    expect(reading).toThrow(new RegExp(`^The secrets file ${file} .*${cause}`));
  });

  it('is read without the secrets that have expired', () => {
    const file = newFile(
      'whsec_YQ== # subscription sub_1\n' +
        'whsec_Yg== # subscription sub_1, until 2999-01-01T00:00:00.000Z\n' +
        'whsec_Yw== # subscription sub_1, until 2020-01-01T00:00:00.000Z\n',
    );
    expect(readSecretFile(file)).toEqual(['whsec_YQ==', 'whsec_Yg==']);
  });

  it(
    'is read by `ringback serve` as by us, and loses nothing, whatever was in it',
    { tags: 'long' },
    async () => {
      const { url } = await standIn({ json: { ...answered, secret: 'whsec_bmV3' } });
      const { platform } = clientOf(url);
      const file = newFile();
      const secret = fc.stringMatching(/^whsec_[A-Za-z0-9+/]{1,8}$/).filter((text) => text !== 'whsec_bmV3');
      const comment = fc.constantFrom('', ' # since March', '\t#', ' # subscription sub_9', ' # a, b # c');
      const line = fc.oneof(
        fc.constantFrom('', '# ours', '  ', '#whsec_YQ=='),
        fc
          .tuple(fc.array(secret, { minLength: 1, maxLength: 3 }), comment)
          .map(([all, end]) => all.join(' , ') + end),
      );
      const keepsAll = async (lines: readonly string[], ending: string) => {
        writeFileSync(file, ['whsec_YQ==', ...lines].join(ending));
        const before = new Set(readSecretFile(file));
        await platform.subscriptions.create(wanted, { secretFile: file });
        const after = readSecretFile(file);
        expect(after[0]).toBe('whsec_bmV3');
        expect(new Set(after.slice(1))).toEqual(before);
        const read = secretsOf({ RINGBACK_SECRETS_FILE: file });
        expect(typeof read === 'function' ? read() : read).toEqual(after);
      };
      await fc.assert(fc.asyncProperty(fc.array(line), fc.constantFrom('\n', '\r\n'), keepsAll), {
        numRuns: 60,
      });
    },
  );

  it('follows a link, and leaves it one', async () => {
    const { platform } = await sandboxAndPlatform();
    const file = newFile('whsec_YQ==\n');
    const link = join(temporaryFolder(), 'link');
    symlinkSync(file, link);
    const { secret } = await created(platform, link);
    expect(readSecretFile(file)[0]).toBe(secret.reveal());
    expect(readSecretFile(link)).toEqual(readSecretFile(file));
  });

  it('stays as it is when nothing is issued, or the platform refuses', async () => {
    const { platform } = await sandboxAndPlatform();
    const file = newFile('whsec_YQ==\n');
    const { id } = await created(platform);
    await platform.subscriptions.enableSigning(id, { secretFile: file });
    await platformError(platform.subscriptions.create(wanted, { secretFile: file }));
    expect(readFileSync(file, 'utf8')).toBe('whsec_YQ==\n');
    expect(readdirSync(dirname(file))).toEqual(filesOf(file));
  });

  test.each<[string, (folder: string) => string]>([
    ['in a folder that there is not', (folder) => join(folder, 'none', 'secrets')],
    [
      'that is a folder',
      (folder) => {
        mkdirSync(join(folder, 'secrets'));
        return join(folder, 'secrets');
      },
    ],
    [
      'in something that is no folder',
      (folder) => {
        writeFileSync(join(folder, 'file'), '');
        return join(folder, 'file', 'secrets');
      },
    ],
  ])('%s is noticed before the platform is asked', async (_, make) => {
    const { url, received } = await standIn({ json: answered });
    const secretFile = make(temporaryFolder());
    const creating = clientOf(url).platform.subscriptions.create(wanted, { secretFile });
    await expect(creating).rejects.toMatchObject({ code: 'secret_file_unwritable' });
    expect(received).toEqual([]);
  });

  // Root may write everywhere.
  it.skipIf(process.getuid?.() === 0)('in a folder that is read-only is noticed as well', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    const { url, received } = await standIn({ json: answered });
    const creating = clientOf(url).platform.subscriptions.create(wanted, {
      secretFile: join(folder, 'secrets'),
    });
    await expect(creating).rejects.toMatchObject({ code: 'secret_file_unwritable' });
    expect(received).toEqual([]);
  });

  it('that cannot be written: the error has the secret', async () => {
    const { url } = await standIn({ json: { ...answered, secret: 'whsec_a,b' } });
    const file = newFile();
    const error: unknown = await clientOf(url)
      .platform.subscriptions.create(wanted, { secretFile: file })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SecretNotKeptError);
    expect((error as SecretNotKeptError).secret.reveal()).toBe('whsec_a,b');
    expect(existsSync(file)).toBe(false);
    expect(readdirSync(dirname(file))).toEqual([`${basename(file)}.lock`]);
  });

  it('whose folder vanishes while the platform is asked: the error has the secret', async () => {
    const folder = temporaryFolder();
    const { url } = await standIn((response) => {
      rmSync(folder, { recursive: true });
      response.end(JSON.stringify({ ...answered, secret: 'whsec_dGVzdA==' }));
    });
    const creating = clientOf(url).platform.subscriptions.create(wanted, {
      secretFile: join(folder, 'secrets'),
    });
    const error: unknown = await creating.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SecretNotKeptError);
    expect((error as SecretNotKeptError).secret.reveal()).toBe('whsec_dGVzdA==');
  });

  it('that can no longer be written does not keep the secret from onSecret', async () => {
    const folder = temporaryFolder();
    const { url } = await standIn((response) => {
      rmSync(folder, { recursive: true });
      response.end(JSON.stringify({ ...answered, secret: 'whsec_dGVzdA==' }));
    });
    const kept: string[] = [];
    const creating = clientOf(url).platform.subscriptions.create(wanted, {
      secretFile: join(folder, 'secrets'),
      onSecret: ({ secret }) => void kept.push(secret),
    });
    await expect(creating).rejects.toMatchObject({
      code: 'secret_not_kept',
      message: expect.stringContaining('ENOENT'),
    });
    expect(kept).toEqual(['whsec_dGVzdA==']);
  });

  it('has the secret when onSecret fails after it', async () => {
    const { platform } = await sandboxAndPlatform();
    const secretFile = newFile();
    const onSecret = () => Promise.reject(new Error('the vault is sealed'));
    const error: unknown = await platform.subscriptions
      .create(wanted, { secretFile, onSecret })
      .catch((reason: unknown) => reason);
    expect(readSecretFile(secretFile)).toEqual([(error as SecretNotKeptError).secret.reveal()]);
  });

  it('gets every secret of several rotations at once, the last one that the platform issued first', async () => {
    const { platform } = await sandboxAndPlatform();
    const file = newFile();
    const { id, secret } = await created(platform, file);
    const rotated = await Promise.all(
      Array.from({ length: 5 }, () => platform.subscriptions.rotateSecret(id, { secretFile: file })),
    );
    const newestFirst = rotated.map((each) => each.secret.reveal()).toReversed();
    expect(readSecretFile(file)).toEqual([...newestFirst, secret.reveal()]);
  });

  it('keeps the newest secret when another process stores an earlier one after it', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    const file = newFile();
    const { id, secret: old } = await created(platform, file);
    const slow = Promise.withResolvers<void>();
    const issued = Promise.withResolvers<void>();
    const other = createPlatform({
      baseUrl: sandbox.url,
      apiKey,
      fetch: async (...request) => {
        const response = await fetch(...request);
        issued.resolve();
        await slow.promise;
        return response;
      },
    });
    const earlier = other.subscriptions.rotateSecret(id, { secretFile: file });
    await issued.promise;
    const { secret: newest } = await platform.subscriptions.rotateSecret(id, { secretFile: file });
    slow.resolve();
    const { secret, previousSecretExpiresAt } = await earlier;
    vi.setSystemTime(Date.parse(previousSecretExpiresAt) + hours);
    onTestFinished(() => void vi.useRealTimers());
    expect(readSecretFile(file)).toEqual([secret, newest].map((each) => each.reveal()));
    expect(readFileSync(file, 'utf8')).toContain(`${old.reveal()} # subscription ${id}, until `);
  });
});

it('a secret that was lost with an answer is missed when the write is repeated', async () => {
  const signed = { json: answered };
  const secretFile = newFile();
  const { url } = await standIn(
    { json: { ...answered, signing_enabled: false } },
    (response) => void response.destroy(),
    signed,
  );
  const { subscriptions } = clientOf(url).platform;
  await platformError(subscriptions.enableSigning('sub_1', { secretFile }));
  const { signing_enabled: enabled, name, url: address, events, active } = answered;
  const whole = { name, url: address, events, active, enable_signed_webhooks: enabled };
  for (const repeated of [
    subscriptions.enableSigning('sub_1', { secretFile }),
    subscriptions.update('sub_1', { active: true }, { secretFile }),
    subscriptions.replace('sub_1', whole, { secretFile }),
  ]) {
    expect(await repeated).toMatchObject({ secret: undefined, warnings: [{ code: 'secret_not_in_file' }] });
  }
});

it.each(['secret', 'signing_secret'])(
  'a rotation that answers with the previous secret as well gives the new one, in %s',
  async (field) => {
    const previous = {
      previous_secret: 'whsec_b2xk',
      previous_secret_expires_at: '2026-01-04T00:00:00.000Z',
    };
    const { url } = await standIn({ json: { ...previous, [field]: 'whsec_bmV3' } });
    const { secret } = await clientOf(url).platform.subscriptions.rotateSecret('sub_1');
    expect(secret.reveal()).toBe('whsec_bmV3');
  },
);

it('a rotation without a secret in its answer is not taken for one', async () => {
  const { url } = await standIn({ json: { previous_secret_expires_at: '2026-01-04T00:00:00.000Z' } });
  expect(await platformError(clientOf(url).platform.subscriptions.rotateSecret('sub_1'))).toMatchObject({
    code: 'unexpected_answer',
    operation: 'subscriptions.rotateSecret',
  });
});

it('an unsigned subscription has no secret to rotate', async () => {
  const { platform } = await sandboxAndPlatform();
  const unsigned = { ...wanted, enable_signed_webhooks: false };
  const { subscription } = await platform.subscriptions.create(unsigned);
  expect(await platformError(platform.subscriptions.rotateSecret(subscription.id))).toMatchObject({
    status: 400,
  });
});
