import { describe, expect, it } from 'vitest';
import { folder, otherSecret, ringback, secret } from './command.ts';
import { body, capture, run } from './signature-support.ts';

/** A scheme whose signature is in a header that is none of the usual ones. */
const otherHeader =
  '{"header":"x-other","syntax":"v1=","content":"{body}","encoding":"hex","hash":"sha256","key":"whole"}';

describe('signature sign and verify', () => {
  it.each([
    ['standard-webhooks-suffix-base64', ['--trace-id', 'trace-1']],
    ['{"syntax":"v1=","content":"{body}","encoding":"hex","hash":"sha512","key":"suffix"}', []],
  ])('fit each other in the scheme %s', async (scheme, more) => {
    const { code, stdout } = await run(['sign', 'body', '--scheme', scheme, ...more], { body });
    expect(code).toBe(0);
    const files = { 'one.http': `POST / HTTP/1.1\r\n${stdout.replaceAll('\n', '\r\n')}\r\n\r\n${body}` };
    const verified = await run(['verify', 'one.http', '--scheme', scheme], files);
    expect(verified.stdout).toMatch(/^authentic: scheme .*, secret \w{8}, (its|no) time is signed$/);
    expect(verified.code).toBe(0);
  });

  it('report what is not authentic', async () => {
    const { code, stdout } = await run(['verify', 'one.http'], { 'one.http': `${capture()} ` });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^not authentic: signature_mismatch\. The signature was made with another/);
  });

  it.each([
    ['x-signature-256', [], 'v1='],
    ['x-hmac', [], 'sha256='],
    ['x-webhook-signature', ['--scheme', otherHeader], 'v1='],
  ] as const)(
    'report that the header %s looks like a signature, and how to find out',
    async (header, more, syntax) => {
      const scheme = {
        header,
        syntax,
        content: '{body}',
        encoding: 'hex',
        hash: 'sha256',
        key: 'whole',
      } as const;
      const { code, stdout } = await run(['verify', 'one.http', ...more], {
        'one.http': capture({ scheme }),
      });
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^not authentic: signature_missing\. The header \S+ looks like a signature, but/,
      );
      expect(stdout).toContain(`The header ${header} looks`);
      expect(stdout).toContain('ringback signature detect');
    },
  );

  it('report that there is no signature, whatever else has the length of one', async () => {
    const unsigned = `POST / HTTP/1.1\nAuthorization: Bearer ${'ab'.repeat(32)}\n\n${body}`;
    const { code, stdout } = await run(['verify', 'one.http'], { 'one.http': unsigned });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^not authentic: signature_missing\. There is no signature in the header of the scheme that is set or pinned: is signing enabled/,
    );
  });

  it('give one signature for each secret, for the time that is asked for', async () => {
    const args = ['sign', 'body', '--timestamp', '2026-01-01T00:00:00Z'];
    const { stdout } = await run(args, { body }, `${secret}\n${otherSecret}`);
    expect(stdout).toMatch(/^x-webhook-signature: t=1767225600,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
  });

  it('look at the time', async () => {
    const files = { 'one.http': capture({ timestamp: Date.parse('2026-01-01T00:00:00Z') }) };
    for (const at of [[], ['--at', '2026-01-01T00:05:01Z']]) {
      const { code, stdout } = await run(['verify', 'one.http', ...at], files);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^not authentic: timestamp_out_of_tol.*: set --at .*, or raise --tolerance\.$/);
    }
    expect((await run(['verify', 'one.http', '--at', '2026-01-01T00:04:59Z'], files)).code).toBe(0);
    expect((await run(['verify', 'one.http', '--tolerance', '36500d'], files)).code).toBe(0);
  });

  it.each([
    ['sign', 'body'],
    ['verify', 'one.http'],
    ['detect', '--request', 'one.http'],
  ])('%s without a secret says every way to give one', async (...args) => {
    const cwd = folder({ body, 'one.http': capture() });
    const { code, stderr } = await ringback(['signature', ...args], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/neither --secret-file nor RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set\./);
    expect(stderr).toMatch(/or --secret-file or RINGBACK_SECRETS_FILE to a file that holds it\.\n$/);
  });

  it.each([
    [['sign', 'body', '--scheme', 'standard-webhooks-suffix-base64'], '--trace-id', 'missing'],
    [['sign', 'body', '--timestamp', 'noon'], '--timestamp', 'not a time'],
    [['sign', 'body', '--scheme', '{}'], '--scheme', 'not a scheme'],
    [['verify', 'one.http', '--scheme', '{}'], '--scheme', 'not a scheme'],
  ])('name what is wrong in %j by its flag', async (args, flag, found) => {
    const { code, stderr } = await run(args, { body, 'one.http': capture() });
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`^ringback: The option ${flag} should be .*, but is ${found}`));
  });

  it.each([
    ['nowhere', 'there is no such file'],
    ['body/nowhere', 'there is no such file'],
    ['.', 'it is a folder'],
  ])('say of the file %s that %s', async (file, cause) => {
    const sentenceOf = async (command: string) => (await run([command, file], { body })).stderr;
    expect(await sentenceOf('sign')).toContain(
      `ringback: The file ${file} should hold the body to sign, but: ${cause}. `,
    );
    expect(await sentenceOf('verify')).toContain(`ringback: The captured request ${file} should be `);
    expect(await sentenceOf('verify')).toContain(` but: ${cause}. `);
  });
});
