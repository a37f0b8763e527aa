/**
 * The attacks that need no secret: whoever holds genuine deliveries can write their signatures in another encoding,
 * syntax or header, and be the first to send them.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { knownSchemes } from '../../src/signature/schemes.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import type { SchemeName, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { respelled } from '../support/respelled.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** A delivery as the platform signs it. */
function genuine(scheme: SchemeName, body = bodyOf()) {
  return { body, headers: signedHeaders(body, { scheme, traceId: 'trace-of-header' }) };
}

async function statusOf(receiver: Receiver, scheme: SchemeName): Promise<number> {
  const { body, headers } = genuine(scheme);
  return (await deliver(receiver, body, headers)).status;
}

describe('a re-spelled delivery that comes first', () => {
  const attacks: readonly [how: string, platform: SchemeName, attacker: SchemeName][] = [
    ['in base64 instead of hex', 'v1-hex-whole', 'v1-base64-whole'],
    ['in hex instead of base64', 't-v1-base64-suffix', 't-v1-hex-suffix'],
    ['as sha256=', 'v1-hex-whole', 'sha256-hex-whole'],
    ['bare', 'v1-hex-whole', 'bare-hex-whole'],
    ['with the time in the signature header', 'v1-timestamp-hex-whole', 't-v1-hex-whole'],
    ['with the time in a header of its own', 't-v1-hex-whole', 'v1-timestamp-hex-whole'],
    [
      'under the name of another header',
      'x-standard-webhooks-suffix-base64',
      'standard-webhooks-suffix-base64',
    ],
    ['under the other name', 'standard-webhooks-suffix-base64', 'x-standard-webhooks-suffix-base64'],
  ];

  test.each(attacks)('%s: genuine deliveries are accepted all the same', async (_, platform, attacker) => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database });
    const { body, headers } = genuine(platform);
    expect((await deliver(receiver, body, respelled(headers, platform, attacker))).status).toBe(200);
    // It is the event that the platform sent, so its own copy is a duplicate.
    expect((await deliver(receiver, body, headers)).json.status).toBe('duplicate');
    expect(await statusOf(receiver, platform)).toBe(200);
    expect(await statusOf(receiver, platform)).toBe(200);
    // The log names the option to set, and corrects it with the next event.
    expect(logs.of('scheme_pinned').map(({ option }) => option)).toEqual([
      `signature: '${attacker}'`,
      `signature: '${platform}'`,
    ]);
    await receiver.stop();
    const next = await started({ database });
    expect(await statusOf(next.receiver, platform)).toBe(200);
  });

  test.each(attacks)('%s: nor does it change what another proof is worth', async (_, platform, attacker) => {
    const { receiver } = await started();
    const { body, headers } = genuine(platform);
    await deliver(receiver, body, respelled(headers, platform, attacker));
    const otherKey = platform.endsWith('suffix') ? 'v1-hex-whole' : 'v1-hex-suffix';
    expect(await statusOf(receiver, otherKey)).toBe(401);
  });

  test('a scheme that is set as an option is that one spelling', async () => {
    const { receiver } = await started({ signature: 'v1-hex-whole' });
    const { body, headers } = genuine('v1-hex-whole');
    expect(
      (await deliver(receiver, body, respelled(headers, 'v1-hex-whole', 'v1-base64-whole'))).status,
    ).toBe(401);
    expect((await deliver(receiver, body, headers)).status).toBe(200);
  });
});

/** What the signature of a known scheme covers, by the beginning of its name. */
const contents: readonly [RegExp, string][] = [
  [/^(t-v1|v1-timestamp)-/, 'time and body'],
  [/^x?-?standard-webhooks-/, 'id, time and body'],
  [/^(v1|sha256|bare)-/, 'body'],
];

function contentOf(name: SchemeName): string {
  return contents.find(([pattern]) => pattern.test(name))?.[1] ?? 'none';
}

function keyOf(name: SchemeName): string {
  return /-(whole|suffix|suffix-base64)$/.exec(name)?.[1] ?? 'none';
}

test('in whatever spelling, a delivery is accepted if its proof is right, and never otherwise', async () => {
  const names = fc.constantFrom(...knownSchemes.keys());
  const receivers = new Map<SchemeName, Receiver>();
  /** A receiver in which an event of this scheme has pinned. */
  const pinnedTo = async (name: SchemeName): Promise<Receiver> => {
    const known = receivers.get(name);
    if (known) return known;
    const { receiver } = await started();
    receivers.set(name, receiver);
    expect(await statusOf(receiver, name)).toBe(200);
    return receiver;
  };
  const changes = fc.constantFrom('nothing', 'the secret', 'the body', 'the time');
  const check = async (pinned: SchemeName, signed: SchemeName, spelled: SchemeName, changed: string) => {
    const receiver = await pinnedTo(pinned);
    const body = bodyOf();
    const secrets = changed === 'the secret' ? otherSecret : secret;
    const headers = signedHeaders(body, { scheme: signed, secrets, traceId: 'trace-of-header' });
    const isTimed = contentOf(signed) !== 'body';
    const sent = respelled(changed === 'the time' && isTimed ? later(headers) : headers, signed, spelled);
    const isGenuine = changed === 'nothing' || (changed === 'the time' && !isTimed);
    const isSpelling = contentOf(signed) === contentOf(spelled) && keyOf(signed) === keyOf(spelled);
    const isProof = contentOf(signed) === contentOf(pinned) && keyOf(signed) === keyOf(pinned);
    const { status } = await deliver(receiver, changed === 'the body' ? `${body} ` : body, sent);
    if (!isGenuine || !isProof) expect(status).toBe(401);
    // Some schemes can read what another one has written over other content, so that is not asked for.
    else if (isSpelling) expect(status).toBe(200);
  };
  // Of three schemes taken at random, hardly any have the same proof.
  const alike = (name: SchemeName) =>
    [...knownSchemes.keys()].filter(
      (other) => contentOf(other) === contentOf(name) && keyOf(other) === keyOf(name),
    );
  const spellings = fc.oneof(
    fc.tuple(names, names, names),
    names.chain((name) => {
      const same = fc.constantFrom(...alike(name));
      return fc.tuple(same, same, same);
    }),
  );
  await fc.assert(
    fc.asyncProperty(spellings, changes, ([pinned, signed, spelled], changed) =>
      check(pinned, signed, spelled, changed),
    ),
    { numRuns: 300 },
  );
});

/** The same headers with every time one second later. */
function later(headers: Readonly<Record<string, string>>): Record<string, string> {
  const moved = Object.entries(headers).map(([name, value]) => {
    if (name.endsWith('timestamp')) return [name, String(secondsOf(value) + 1)];
    return [name, value.replace(/^t=(\d+)/, (_, t: string) => `t=${Number(t) + 1}`)];
  });
  return Object.fromEntries(moved) as Record<string, string>;
}

function secondsOf(time: string): number {
  return /^\d+$/.test(time) ? Number(time) : Math.floor(Date.parse(time) / 1_000);
}
