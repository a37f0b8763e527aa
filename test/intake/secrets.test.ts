import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readSecretFile } from '../../src/platform/index.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import type { Secrets } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const signedWith = (secrets: string | string[], timestamp: number) => {
  const body = bodyOf();
  return [body, signedHeaders(body, { secrets, timestamp })] as const;
};

type SecretsFunction = () => Secrets | Promise<Secrets>;
const neverAnswering = () => new Promise<never>(() => {});

describe('a function that gives the secrets', () => {
  test('is called again when a signature does not verify: a rotation needs no restart', async () => {
    const clock = new ManualClock();
    let current: Secrets = secret;
    const { receiver } = await started({ clock, secrets: () => current });
    expect((await deliver(receiver, ...signedWith(secret, clock.now()))).status).toBe(200);
    current = [otherSecret, secret];
    clock.advance(2_000);
    expect((await deliver(receiver, ...signedWith(otherSecret, clock.now()))).status).toBe(200);
    expect((await deliver(receiver, ...signedWith(secret, clock.now()))).status).toBe(200);
  });

  test('is not called for each forgery', async () => {
    const clock = new ManualClock();
    const secrets = vi.fn(() => secret);
    const { receiver } = await started({ clock, secrets });
    clock.advance(2_000);
    for (let index = 0; index < 50; index += 1) {
      expect((await deliver(receiver, ...signedWith(otherSecret, clock.now()))).status).toBe(401);
    }
    expect(secrets).toHaveBeenCalledTimes(2);
  });

  test('is called from time to time, so that a withdrawn secret stops counting', async () => {
    const clock = new ManualClock();
    let current: Secrets = [secret, otherSecret];
    const { receiver } = await started({ clock, secrets: () => Promise.resolve(current) });
    current = otherSecret;
    clock.advance(30_000);
    // This delivery makes the receiver ask for the secrets again, but doesn't wait for them.
    expect((await deliver(receiver, ...signedWith(otherSecret, clock.now()))).status).toBe(200);
    expect((await deliver(receiver, ...signedWith(secret, clock.now()))).status).toBe(401);
  });

  test('is called before a delivery is verified with secrets older than a minute', async () => {
    const clock = new ManualClock();
    const answer = Promise.withResolvers<Secrets>();
    const secrets = vi.fn<SecretsFunction>(() => answer.promise).mockReturnValueOnce([secret, otherSecret]);
    const { receiver } = await started({ clock, secrets });
    clock.advance(60_000);
    // Both deliveries wait for the same answer: the second must not be verified with the old secrets while that is
    // being asked for.
    const withdrawn = [
      deliver(receiver, ...signedWith(secret, clock.now())),
      deliver(receiver, ...signedWith(secret, clock.now())),
    ];
    const kept = deliver(receiver, ...signedWith(otherSecret, clock.now()));
    await turn();
    expect(secrets).toHaveBeenCalledTimes(2);
    answer.resolve(otherSecret);
    expect((await Promise.all(withdrawn)).map(({ status }) => status)).toEqual([401, 401]);
    expect((await kept).status).toBe(200);
  });

  test('that does not answer after a minute: the last known secrets count, within the second of the sender', async () => {
    const clock = new ManualClock();
    const secrets = vi.fn<SecretsFunction>(neverAnswering).mockReturnValueOnce(secret);
    const { receiver } = await started({ clock, secrets });
    clock.advance(60_000);
    const answer = deliver(receiver, ...signedWith(secret, clock.now()));
    await clock.timer(500);
    clock.advance(500);
    expect((await answer).status).toBe(200);
  });

  test('may fail later: the last known secrets still count, and the log says so', async () => {
    const clock = new ManualClock();
    let isDown = false;
    const { receiver, logs } = await started({
      clock,
      secrets: () => {
        if (isDown) throw new Error('the vault is down');
        return secret;
      },
    });
    isDown = true;
    clock.advance(30_000);
    expect((await deliver(receiver, ...signedWith(secret, clock.now()))).status).toBe(200);
    expect(logs.of('secrets_failed')).toHaveLength(1);
  });

  test('that does not answer is given up and asked again, and the log says so', async () => {
    const clock = new ManualClock();
    const secrets = vi
      .fn<SecretsFunction>(() => otherSecret)
      .mockReturnValueOnce(secret)
      .mockReturnValueOnce(neverAnswering());
    const { receiver, logs } = await started({ clock, secrets });
    clock.advance(31_000);
    expect((await deliver(receiver, ...signedWith(secret, clock.now()))).status).toBe(200);
    clock.advance(5_000);
    expect(await logs.until('secrets_failed')).toMatchObject([{ cause: expect.stringContaining('5 s') }]);
    clock.advance(31_000);
    expect((await deliver(receiver, ...signedWith(otherSecret, clock.now()))).status).toBe(200);
    expect(secrets).toHaveBeenCalledTimes(3);
  });

  test('may fail with a message that quotes the secret: the log names the error only', async () => {
    const clock = new ManualClock();
    let text = JSON.stringify(secret);
    const { receiver, logs } = await started({ clock, secrets: () => JSON.parse(text) as string });
    text = secret;
    clock.advance(31_000);
    await deliver(receiver, ...signedWith(secret, clock.now()));
    await logs.until('secrets_failed');
    expect(JSON.stringify(logs.of('secrets_failed'))).toContain('SyntaxError');
    expect(JSON.stringify(logs.of('secrets_failed'))).not.toContain(secret.slice(0, 10));
  });

  test('may fail without a connection: the log says so, and where', async () => {
    const clock = new ManualClock();
    const cause = Object.assign(new Error('connect 192.0.2.1'), { code: 'ECONNREFUSED' });
    let isDown = false;
    const secrets = () => {
      if (isDown) throw new TypeError('fetch failed', { cause });
      return secret;
    };
    const { receiver, logs } = await started({ clock, secrets });
    isDown = true;
    clock.advance(31_000);
    await deliver(receiver, ...signedWith(secret, clock.now()));
    expect(await logs.until('secrets_failed')).toMatchObject([
      {
        cause: expect.stringMatching(
          /failed: TypeError ECONNREFUSED \(test\/intake\/secrets\.test\.ts:\d+:\d+\)/,
        ),
      },
    ]);
  });

  test.each([
    [
      'of a secrets file, whose own advice is enough',
      () => readSecretFile('./nowhere'),
      /The secrets file \.\/nowhere .* but: there is no such file\. Check the path, that this process may read the file, and that the secret is in it\.$/,
    ],
    [
      'of a source',
      () => {
        throw new TypeError();
      },
      /Make it return the last known secrets/,
    ],
    ['without an answer', () => undefined, /of type undefined\. Make it return the secret as text/],
  ])('says what to do about a failure at start: %s', async (_, secrets, sentence) => {
    const { receiver } = made({ secrets: secrets as SecretsFunction });
    await expect(receiver.start()).rejects.toThrow(sentence);
  });

  test('names the file of a malformed secret', async () => {
    const file = join(temporaryFolder(), 'secrets');
    writeFileSync(file, `${secret}\nnot-a-secret\n`);
    const { receiver } = made({ secrets: () => readSecretFile(file) });
    await expect(receiver.start()).rejects.toThrow(`Secret 2 in the secrets file ${file} should be `);
  });

  test('may neither fail at start nor return a malformed secret', async () => {
    for (const secrets of [() => Promise.reject(new Error('the vault is down')), () => '']) {
      const { receiver } = made({ secrets });
      await expect(receiver.start()).rejects.toMatchObject({ name: 'ConfigError' });
    }
  });
});

test('a delivery signed by the old and the new secret counts for who has one of them', async () => {
  for (const secrets of [secret, otherSecret]) {
    const { receiver } = await started({ secrets });
    expect((await deliver(receiver, ...signedWith([secret, otherSecret], Date.now()))).status).toBe(200);
  }
});
