import { describe, expect, it } from 'vitest';
import type { Scheme } from '../../src/events/model.ts';
import type { SchemeName } from '../../src/signature/schemes.ts';
import { fingerprint } from '../../src/signature/secrets.ts';
import { unnamed } from '../signature/helpers.ts';
import { folder, otherSecret, ringback, secret } from './command.ts';
import { type CaptureParts, body, capture, run } from './signature-support.ts';

const detect = (files: Readonly<Record<string, string>>, secrets?: string) =>
  run(['detect', '--request', ...Object.keys(files)], files, secrets);

describe('signature detect', () => {
  it('prints the option to set, and which requests verified with which secret', async () => {
    const timestamp = Date.parse('2026-01-01T00:00:00Z');
    const files = {
      'one.http': capture({ timestamp }),
      'two.http': capture({ timestamp, secrets: otherSecret, signed: '{}\n', lineBreak: '\n' }),
    };
    const { code, stdout, stderr } = await detect(files, `${secret}\n${otherSecret}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'All 2 requests verify. Set the option:',
      '',
      "  signature: 't-v1-hex-whole'",
      '',
      `  one.http  verified with the secret ${fingerprint(secret)}, sent 2026-01-01T00:00:00.000Z`,
      `  two.http  verified with the secret ${fingerprint(otherSecret)}, sent 2026-01-01T00:00:00.000Z`,
    ]);
  });

  it('takes the secret from the environment, and a capture without a request line', async () => {
    const cwd = folder({ 'one.http': capture({ scheme: 'v1-base64-suffix' }).replace(/^.*\r\n/, '') });
    const { code, stdout } = await ringback(['signature', 'detect', '--request', 'one.http'], {
      cwd,
      env: { RINGBACK_SECRETS: `${otherSecret},${secret}` },
    });
    expect(code).toBe(0);
    expect(stdout).toContain("signature: 'v1-base64-suffix'");
    expect(stdout).toContain('No time is signed');
  });

  it('finds a scheme that has no name, and says that it must be set', async () => {
    const { code, stdout } = await detect({ 'one.http': capture({ scheme: unnamed }) });
    expect(code).toBe(0);
    expect(JSON.parse(/signature: (\{.*\})/.exec(stdout)?.[1] ?? '')).toEqual(unnamed);
    expect(stdout).toContain("'auto' doesn't try this scheme");
  });

  it.each<[string, SchemeName | Scheme]>([
    ['a name', 'v1-hex-suffix'],
    [
      'JSON',
      { header: 'x-s', syntax: 'v1=', content: '{body}', encoding: 'hex', hash: 'sha256', key: 'whole' },
    ],
  ])('prints after signature: what --scheme of verify takes, as %s', async (_what, scheme) => {
    const files = { 'one.http': capture({ scheme }) };
    const { stdout } = await detect(files);
    const printed = /signature: (.*)/.exec(stdout)?.[1] ?? '';
    // As a shell reads it, which takes the quotes of a name away.
    const copied = printed.replace(/^'(.*)'$/, '$1');
    expect((await run(['verify', 'one.http', '--scheme', copied], files)).code).toBe(0);
  });

  it('says of each request how its body was altered', async () => {
    const declared = { 'Content-Length': String(Buffer.byteLength(body)) };
    const altered: Readonly<Record<string, readonly [CaptureParts, RegExp]>> = {
      'end.http': [
        { captured: `${body}\n`, headers: declared },
        /Content-Length says 53 bytes, but 54 follow.*\n.*it verifies without the line break at its end, in the scheme t-v1-/,
      ],
      'spaced.http': [
        { signed: '{"a": [1, {"b": null}], "name": "\\u00fc"}', captured: '{"a":[1,{"b":null}],"name":"ü"}' },
        /it verifies as JSON with a space after each comma and colon, in ASCII only, in the scheme t-v1-hex-whole/,
      ],
      'indented.http': [
        { captured: JSON.stringify(JSON.parse(body), null, 2) },
        /it verifies as JSON without whitespace, in the scheme/,
      ],
      'breaks.http': [{ signed: '{\r\n}', captured: '{\n}' }, /it verifies with CRLF for each LF/],
      'length.http': [
        { captured: '{"other":1}', headers: declared },
        /Content-Length says 53 bytes, but 11 follow the blank line/,
      ],
      'chunks.http': [
        { captured: `35\r\n${body}\r\n0\r\n\r\n`, headers: { 'Transfer-Encoding': 'chunked' } },
        /sent with chunked encoding/,
      ],
    };
    const files = Object.entries(altered).map(([name, [parts]]) => [name, capture(parts)]);
    const { code, stdout } = await detect(Object.fromEntries(files));
    expect(code).toBe(1);
    for (const [name, [, sentence]] of Object.entries(altered)) {
      const block = stdout.split('\n\n').find((one) => one.startsWith(`${name} does not verify.`));
      expect(block).toMatch(sentence);
      expect(block).not.toContain('most likely');
    }
  });

  it('reports that the secret is most likely another, and how old the request is', async () => {
    const timestamp = Date.parse('2026-01-01T00:00:00Z');
    const { code, stdout } = await detect({ 'one.http': capture({ timestamp }) }, otherSecret);
    expect(code).toBe(1);
    expect(stdout).toContain(`with the secret ${fingerprint(otherSecret)} (the beginning of its SHA-256)`);
    expect(stdout).toMatch(/The secret is most likely not the one.*\n.*days old.*rotated since/);
  });

  it('reports which of several verify by themselves', async () => {
    const files = { 'one.http': capture(), 'two.http': capture({ secrets: otherSecret }) };
    const { code, stdout } = await detect(files);
    expect(code).toBe(1);
    expect(stdout).toContain('No scheme verifies all of these 2 requests');
    expect(stdout).toContain('one.http verifies, by itself, in the scheme t-v1-hex-whole.');
    expect(stdout).toMatch(/two\.http does not verify\.\n {2}Others verify with the secret \w{8}, so either/);
  });

  it('takes a header for a signature by its value as well, when the secret is another', async () => {
    const scheme = {
      header: 'x-hmac',
      syntax: 'v1=',
      content: '{body}',
      encoding: 'hex',
      hash: 'sha256',
      key: 'whole',
    } as const;
    const { code, stdout } = await detect({ 'one.http': capture({ scheme }) }, otherSecret);
    expect(code).toBe(1);
    expect(stdout).toContain('The secret is most likely not the one that signed it');
  });

  it('reports that there is no signature', async () => {
    const { code, stdout } = await detect({ 'one.http': 'POST / HTTP/1.1\nHost: a\n\n{}' });
    expect(code).toBe(1);
    expect(stdout).toContain('There is no signature header: is signing enabled');
  });

  it.each([
    [
      'has no blank line',
      'POST / HTTP/1.1\r\nHost: a\r\n',
      'there is no blank line between headers and body',
    ],
    [
      'has a line that is not a header',
      'POST / HTTP/1.1\nHost: a\n+49 30 1234\n\n{}',
      'line 3 is not a header',
    ],
  ])('says what is wrong with a file that %s', async (_what, text, sentence) => {
    const { code, stdout, stderr } = await detect({ 'one.http': text });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^ringback: The captured request one\.http should be a file with [^\n]*\n$/);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('1234');
  });

  it('says that a secret is none, without repeating it', async () => {
    const { code, stderr } = await detect({ 'one.http': capture() }, 'a-private-text');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^ringback: Secret 1 in the secrets file secrets should be .* does not start with whsec_/,
    );
  });

  it.each([
    [['detect'], "missing the option '--request <file...>' or '--quarantine <id...>'"],
    [
      ['detect', '--request', 'one.http'],
      'neither --secret-file nor RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set',
    ],
    [['verify', 'one.http', '--at', 'noon'], 'It should be a time in ISO 8601'],
    [
      ['sign', 'one.http', '--scheme', 'foo'],
      'It should be the name of a signature scheme, such as t-v1-hex-whole',
    ],
    [['recognize'], "unknown command 'recognize'"],
  ])('of %j is misused', async (args, sentence) => {
    const cwd = folder({ 'one.http': capture() });
    const { code, stderr } = await ringback(['signature', ...args], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ringback: [^\n]*\n$/);
    expect(stderr).toContain(sentence);
  });
});
