/** What a person is told about the signature of a delivery in quarantine. */
import { describe, expect, test } from 'vitest';
import { knownSchemes } from '../../src/signature/schemes.ts';
import { ManualClock, turn } from '../support/clock.ts';
import {
  bodyOf,
  deliver,
  otherSecret,
  secret,
  signedHeaders,
  type SignParts,
} from '../support/deliveries.ts';
import { ConfigError, type ReceiverOptions, type SchemeName } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { respelled } from '../support/respelled.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const [usual, other] = ['t-v1-hex-whole', 'v1-hex-suffix'] as const satisfies SchemeName[];
const hour = 3_600_000;

/**
 * A receiver at which nothing is pinned yet, and a function that sends a delivery and resolves to what is told of it.
 * `secrets` may be replaced at any time.
 */
async function checking(options: ReceiverOptions = {}) {
  const clock = new ManualClock();
  const known = { secrets: [secret] };
  const { receiver, logs } = await started({ clock, secrets: () => known.secrets, ...options });
  const refuse = async (body: string, headers: Record<string, string>) => {
    expect((await deliver(receiver, body, headers)).status).toBe(401);
    const { deliveries } = await receiver.quarantine.list({ limit: 1 });
    return deliveries[0]?.id ?? -1;
  };
  const signed = (body: string, parts: SignParts = {}) =>
    signedHeaders(body, { timestamp: clock.now(), ...parts });
  const checked = async (parts: SignParts, body = bodyOf()) =>
    receiver.quarantine.checkSignature(await refuse(body, signed(body, parts)));
  /** Accepts an event in the usual scheme, which is pinned then. */
  const pin = async () => {
    const body = bodyOf();
    expect((await deliver(receiver, body, signed(body))).status).toBe(200);
  };
  const rotate = (...secrets: string[]) => {
    known.secrets = secrets;
    clock.advance(1_000);
  };
  return { receiver, logs, clock, refuse, signed, checked, pin, rotate };
}

describe('quarantine.checkSignature', () => {
  test('tells that a delivery verifies once its secret is there, however long ago it came, and it is released', async () => {
    const { receiver, clock, refuse, signed, rotate } = await checking();
    const body = bodyOf();
    const id = await refuse(body, signed(body, { secrets: otherSecret }));
    expect(await receiver.quarantine.checkSignature(id)).toEqual({
      status: 'does_not_verify',
      scheme: undefined,
      expected: undefined,
      message: expect.stringMatching(
        new RegExp(`signed with another secret, .* or it is forged.*detect --quarantine ${id} `),
      ),
    });
    clock.advance(5 * hour);
    rotate(secret, otherSecret);
    const check = await receiver.quarantine.checkSignature(id);
    expect(check).toMatchObject({
      status: 'verifies',
      scheme: usual,
      message: expect.stringMatching(/can be released\. No scheme is pinned yet/),
    });
    expect(await receiver.quarantine.release(id)).toMatchObject({ status: 'accepted' });
    expect(await receiver.quarantine.checkSignature(id)).toBeUndefined();
  });

  test('tells in which scheme it is signed instead of the pinned one, and what moves the pin', async () => {
    const { receiver, checked, pin } = await checking();
    await pin();
    expect(await checked({ scheme: other })).toEqual({
      status: 'verifies_otherwise',
      scheme: other,
      expected: usual,
      message: expect.stringMatching(
        new RegExp(`scheme ${other}, but ${usual} is pinned\\. .*reverify.*old delivery`),
      ),
    });
    await checked({ scheme: other });
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 2 });
    expect(await checked({ scheme: usual })).toMatchObject({ status: 'verifies_otherwise', expected: other });
  });

  test.each<SchemeName>([other, 't-v1-base64-whole'])(
    'tells that the option signature would have to name %s',
    async (scheme) => {
      const { checked } = await checking({ signature: usual });
      expect(await checked({ scheme })).toMatchObject({
        status: 'verifies_otherwise',
        scheme,
        expected: usual,
        message: expect.stringContaining(`set signature: '${scheme}'`),
      });
    },
  );

  test('tries a scheme that is known from the option signature only', async () => {
    const signature = {
      syntax: 'v1=',
      content: '{body}.{timestamp}',
      encoding: 'hex',
      hash: 'sha512',
      key: 'suffix',
      header: 'x-signature',
    } as const;
    const { receiver, refuse, signed, rotate } = await checking({ signature });
    const body = bodyOf();
    const id = await refuse(body, signed(body, { scheme: signature, secrets: otherSecret }));
    rotate(otherSecret);
    const check = await receiver.quarantine.checkSignature(id);
    expect(check).toMatchObject({ status: 'verifies', scheme: check?.expected });
    expect(JSON.parse(check?.scheme ?? '')).toEqual(signature);
  });

  test('tells that only the time was outside the tolerance, in whichever scheme', async () => {
    const { clock, checked, pin } = await checking();
    await pin();
    const timestamp = clock.now() - hour;
    const late = { status: 'out_of_tolerance', expected: usual };
    const own = await checked({ timestamp });
    expect(own).toMatchObject({ ...late, scheme: usual, message: expect.stringContaining('clock') });
    expect(own?.message).not.toContain('Besides');
    const scheme = 'v1-timestamp-hex-suffix';
    const besides = expect.stringContaining(`Besides, only ${usual} is accepted.`);
    expect(await checked({ scheme, timestamp })).toMatchObject({ ...late, scheme, message: besides });
  });

  test('takes a captured delivery that is cut apart for another scheme for none of the platform', async () => {
    const { receiver, refuse, signed, pin } = await checking();
    await pin();
    const body = bodyOf();
    const headers = signed(body);
    const [, t] = /^t=(\d+),/.exec(headers['x-webhook-signature'] ?? '') ?? [];
    const id = await refuse(`${t}.${body}`, respelled(headers, usual, 'v1-hex-whole'));
    expect(await receiver.quarantine.checkSignature(id)).toMatchObject({
      status: 'does_not_verify',
      scheme: undefined,
      message: expect.stringMatching(/no event \(not_json\).* cut up .*Discard it/),
    });
  });

  test('tells why no known scheme verifies it', async () => {
    const { receiver, refuse, signed } = await checking();
    const json = { 'content-type': 'application/json' };
    for (const [headers, message] of [
      [json, /no signature in a header of a known scheme/],
      [{ ...json, 'x-webhook-signature': 'ok' }, /in the form of no known scheme/],
      [signed(bodyOf()), /its body was changed/],
      [{ ...json, 'webhook-signature': `v1,${'A'.repeat(43)}=`, 'webhook-id': 'x' }, /it has no time/],
    ] as const)
      expect(await receiver.quarantine.checkSignature(await refuse(bodyOf(), headers))).toMatchObject({
        status: 'does_not_verify',
        message: expect.stringMatching(message),
      });
    const body = bodyOf();
    const unreadable = signed(body, { scheme: 'v1-timestamp-hex-whole', timestamp: 'noon' as never });
    expect(await receiver.quarantine.checkSignature(await refuse(body, unreadable))).toMatchObject({
      status: 'does_not_verify',
      message: expect.stringContaining("its signed time can't be read"),
    });
  });

  test('tells that one that was cut can not be checked, and that an unreadable one was authentic', async () => {
    const { receiver, refuse, signed } = await checking();
    const json = { 'content-type': 'application/json' };
    const cut = await refuse('x'.repeat(100_000), json);
    expect(await receiver.quarantine.checkSignature(cut)).toMatchObject({ status: 'cut' });
    expect((await deliver(receiver, 'no json', signed('no json'))).status).toBe(200);
    expect(await receiver.quarantine.checkSignature(cut + 1)).toMatchObject({ status: 'authentic' });
  });

  test('tells without secrets that only a receiver with the secrets can tell', async () => {
    const database = temporaryDatabase();
    const { refuse, signed } = await checking({ database });
    const body = bodyOf();
    const id = await refuse(body, signed(body, { scheme: other, secrets: otherSecret }));
    const { receiver: blind } = await started({ database, secrets: undefined, headers: { 'x-key': 'k' } });
    expect(await blind.quarantine.checkSignature(id)).toMatchObject({
      status: 'secrets_not_set',
      scheme: undefined,
      message: expect.stringContaining('only a receiver with the secrets can'),
    });
  });

  test('changes nothing, and says nothing of the secret', async () => {
    const { receiver, logs, checked, pin } = await checking();
    await pin();
    const seen = [];
    for (const parts of [{ scheme: other }, { secrets: otherSecret }]) seen.push(await checked(parts));
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(2);
    expect((await receiver.audit.list()).entries).toEqual([]);
    expect(logs.of('scheme_pinned')).toHaveLength(1);
    const { deliveries } = await receiver.quarantine.list();
    expect(deliveries.map(({ kind }) => kind)).toEqual(['not_authentic', 'not_authentic']);
    const fingerprint = logs.of('delivery_accepted')[0]?.['secret'];
    expect(fingerprint).toMatch(/^[0-9a-f]{8}$/);
    for (const part of ['whsec', secret.slice(6), String(fingerprint)])
      expect(JSON.stringify(seen)).not.toContain(part);
  });

  test('tries one scheme on one delivery at a time, and new deliveries are received in between', async () => {
    const { receiver, refuse, signed } = await checking();
    const body = bodyOf();
    const id = await refuse(body, signed(body, { secrets: otherSecret }));
    const checked: unknown[] = [];
    for (let check = 0; check < 2; check += 1)
      void receiver.quarantine.checkSignature(id).then((answer) => checked.push(answer));
    let turns = 0;
    for (; checked.length < 2; turns += 1) await turn();
    expect(turns).toBeGreaterThan(2 * knownSchemes.size);
  });

  test('needs a receiver that runs, and a whole number', async () => {
    const { receiver } = made();
    await expect(receiver.quarantine.checkSignature(1)).rejects.toMatchObject({
      code: 'receiver_not_started',
    });
    await receiver.start();
    await expect(receiver.quarantine.checkSignature('1' as never)).rejects.toThrow(ConfigError);
    expect(await receiver.quarantine.checkSignature(1)).toBeUndefined();
  });
});
