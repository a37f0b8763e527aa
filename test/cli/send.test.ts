import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { fixtureNames } from '../../src/testing/fixtures.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { freePort } from '../support/free-port.ts';
import { listening } from '../support/servers.ts';
import { folder, otherSecret, ringback, secret } from './command.ts';
import { plain, receiverAt } from './doctor-support.ts';
import { inboxWithTrouble } from './inbox-support.ts';

const env = { RINGBACK_SECRETS: `${secret},${otherSecret}` };

/** The address of a receiver in this process. */
async function target(options: ReceiverOptions = plain): Promise<string> {
  return (await receiverAt(options)).href;
}

describe('send', () => {
  it('signs a fixture with the first secret, sends it, prints the answer, and exits with 0', async () => {
    const to = await target();
    const { code, stdout, stderr } = await ringback(['send', 'call-ended', '--to', to], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^→ CallHandler\.CallEnded trace-call-ended \(\d+ bytes\) to http:/),
      '← 200 {"status":"accepted","traceId":"trace-call-ended"}',
    ]);
  });

  it('sends the same event again, or another one with --new-ids', async () => {
    const to = await target();
    const answers: string[] = [];
    const name = 'call-transferred-flat';
    for (const more of [[], [], ['--new-ids'], ['--new-ids']]) {
      answers.push((await ringback(['send', name, '--to', to, ...more], { env })).stdout);
    }
    const statuses = answers.map((answer) => /"status":"(\w+)"/.exec(answer)?.[1]);
    expect(statuses).toEqual(['accepted', 'duplicate', 'accepted', 'accepted']);
  });

  it('sends headers besides, as a proxy does', async () => {
    const proxied = await target({ https: { trustProxy: 'loopback' } });
    const args = ['send', 'call-ended', '--to', proxied];
    const https = ['--header', 'X-Forwarded-Proto: https'];
    const named = ['--header', 'x-forwarded-host:calls.example.com'];
    const answers: (string | undefined)[] = [];
    for (const more of [[], https, [...https, ...named]]) {
      answers.push((await ringback([...args, ...more], { env })).stdout.split('← ')[1]);
    }
    expect(answers).toEqual([
      '403 {"error":"https_required"}',
      '421 {"error":"host_not_allowed"}',
      '200 {"status":"accepted","traceId":"trace-call-ended"}',
    ]);
  });

  it('sends the last of headers with one name, in whichever case', async () => {
    const seen: unknown[] = [];
    const port = await listening(({ headers }, response) => {
      seen.push(headers['x-a']);
      response.end();
    });
    const more = ['X-A: 1', 'x-a: 2', 'X-A: 3'].flatMap((header) => ['--header', header]);
    await ringback(['send', 'call-ended', '--to', `http://127.0.0.1:${port}`, ...more], { env });
    expect(seen).toEqual(['3']);
  });

  it.each([
    ['Authorization Bearer word', 'a name, a colon and a value'],
    [': word', 'a name, a colon and a value'],
    ['a b: word', 'a name, a colon and a value'],
    ['x:', 'whose value is ASCII text, but is x with another value, or none'],
    ['x: a\r\nword: b', 'whose value is ASCII text'],
    ['x: wörd word', 'whose value is ASCII text'],
    ['Host: word', 'can be chosen, but is host, which the HTTP client sets itself'],
    ['__proto__: word', 'can be chosen'],
    ['Sec-Fetch-Mode: word', 'can be chosen'],
  ])('refuses the header %j with 2, and does not quote its value', async (header, sentence) => {
    const args = ['send', 'call-ended', '--to', 'http://127.0.0.1', '--header', header];
    const { code, stderr } = await ringback(args, { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ringback: The option --header should be /);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('word');
  });

  it('exits with 1 when the answer is not 200', async () => {
    const to = await target();
    const args = ['send', 'call-ended', '--to', to, '--secret', otherSecret];
    const { code, stdout, stderr } = await ringback(args, { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^ringback: refused; the receiver's log says why \(delivery_refused; for most reasons also refusal_fix/,
    );
    expect(stdout).toContain('← 401 {"error":"not_authentic"}');
  });

  it.each([
    [404, '{"error":"not_found"}', /^ringback: no receiver takes deliveries at this path: .*--path/],
    [503, '{"error":"unavailable"}', /^ringback: refused; .*\(delivery_refused or delivery_failed; /],
    [
      502,
      '<html>',
      /^ringback: this is not the answer of a receiver: check the address, and what is in front/,
    ],
    [401, '{"error":"other"}', /^ringback: this is not the answer of a receiver/],
    [204, '', /^ringback: this is not the answer of a receiver/],
  ])('says where to look after %i %s', async (status, answer, sentence) => {
    const port = await listening((_request, response) => response.writeHead(status).end(answer));
    const args = ['send', 'call-ended', '--to', `http://127.0.0.1:${port}`];
    const { code, stderr } = await ringback(args, { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(sentence);
  });

  it('says that http is spoken where it sends over https', async () => {
    const to = `https://127.0.0.1:${await listening((_request, response) => response.end())}/`;
    const { code, stderr } = await ringback(['send', 'call-ended', '--to', to], { env });
    expect([code, stderr]).toEqual([
      1,
      `ringback: The delivery could not be sent to ${to}: the server there uses http, not https. ` +
        'Write http:// in the URL, or the port that speaks https.\n',
    ]);
  });

  it('names the fixture that was probably meant, and not all of them', async () => {
    const args = ['send', 'call-endet', '--to', 'http://127.0.0.1'];
    expect(await ringback(args, { env })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        "ringback: call-endet should be a fixture's name or a JSON file, but it is neither. Did you mean call-ended?\n",
    });
  });

  it('says of a folder that it is one', async () => {
    const args = ['send', '.', '--to', 'http://127.0.0.1'];
    expect(await ringback(args, { env })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'ringback: The file . should hold the body to sign, but: it is a folder. Check the path and its permissions.\n',
    });
  });

  it('signs in another scheme', async () => {
    const to = await target();
    const args = ['send', 'call-ended', '--to', to, '--scheme', 'standard-webhooks-suffix-base64'];
    expect((await ringback(args, { env })).stdout).toContain('← 200');
  });

  it('sends a file that is written like a fixture, or is the body', async () => {
    const body = {
      traceId: 'trace-file',
      eventName: 'CallHandler.CallEnded',
      payload: { call_id: 'call_9' },
    };
    const cwd = folder({
      'fixture.json': JSON.stringify({
        headers: { 'x-webhook-event': 'A.B' },
        rawBody: '{"traceId":"trace-raw"}',
      }),
      'body.json': JSON.stringify(body),
      'broken.json': '{"traceId":',
    });
    const to = await target();
    const sent = async (file: string) => (await ringback(['send', file, '--to', to], { env, cwd })).stdout;
    expect(await sent('fixture.json')).toMatch(/^→ A\.B .*"status":"accepted","traceId":"trace-raw"/s);
    expect(await sent('body.json')).toMatch(/^→ CallHandler\.CallEnded trace-file .*"status":"accepted"/s);
    expect(await sent('broken.json')).toMatch(/^→ a delivery without a name .*"status":"quarantined"/s);
  });

  it('sends the bytes of a delivery in quarantine, as it was printed', { tags: 'long' }, async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x7b]);
    const cwd = await inboxWithTrouble({ besides: [buildDelivery(bytes, { secret })] });
    const to = await target();
    const sent = async (id: string) => {
      const printed = await ringback(['inbox', 'delivery', id], { cwd });
      writeFileSync(join(cwd, 'delivery.json'), printed.stdout);
      return (await ringback(['send', 'delivery.json', '--to', to], { env, cwd })).stdout;
    };
    expect(await sent('1')).toMatch(
      /^→ CallHandler\.CallEnded .*"status":"accepted","traceId":"trace-call-e/s,
    );
    expect(await sent('2')).toMatch(/^→ a delivery without a name \(3 bytes\) .*"status":"quarantined"/s);
  });

  it('refuses an empty file, with 2', async () => {
    const cwd = folder({ 'empty.json': '' });
    const args = ['send', 'empty.json', '--to', 'http://127.0.0.1'];
    expect(await ringback(args, { env, cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ringback: the file empty.json should be a fixture or a body, but is empty\n',
    });
  });

  it('lists every fixture with what it is', async () => {
    const { code, stdout } = await ringback(['send', '--list']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines.map((line) => line.split(' ', 1)[0])).toEqual(fixtureNames());
    expect(lines.every((line) => /^\S+ +\S.*\.$/.test(line))).toBe(true);
  });

  it.each([
    [
      'the port is one that is never asked',
      ['call-ended', '--to', 'http://127.0.0.1:9/hook'],
      /: fetch never connects to this port/,
    ],
    [
      'nobody listens',
      ['call-ended'],
      /^ringback: The delivery could not be sent to http:\S+: .*ECONNREFUSED/,
    ],
    [
      'there is no such fixture',
      ['call-over'],
      /^ringback: call-over should be a fixture's name .* call-ended, /,
    ],
  ])('ends with a sentence and 1 when %s', async (_what, args, sentence) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await ringback(['send', '--to', url, ...args], { env });
    expect(code).toBe(1);
    expect(stderr.trimEnd()).toMatch(sentence);
    expect(stderr).toMatch(/^[^\n]*\n$/);
  });

  it('refuses a secret that does not begin as one, with 2', async () => {
    const args = ['send', 'call-ended', '--to', 'http://127.0.0.1', '--secret', '4711'];
    const { code, stderr } = await ringback(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ringback: Secret 1 .* does not start with whsec_/);
  });

  it('asks for a secret when there is none', async () => {
    const { code, stderr } = await ringback(['send', 'call-ended', '--to', 'http://127.0.0.1']);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^ringback: The option --secret should be the signing secret, but is missing\. Set it, RINGBACK_SECRETS or RINGBACK_SECRETS_FILE/,
    );
  });
});
