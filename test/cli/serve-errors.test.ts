import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { folder, otherSecret, ringback, secret } from './command.ts';

const env = { RINGBACK_SECRETS: secret, RINGBACK_PORT: '0' };

/** Runs `serve`, which must end with a sentence (one line, no stack, no secret) and this exit code. */
async function sentenceOf(
  args: readonly string[],
  variables: Record<string, string>,
  { cwd = folder(), expected = 1 }: { cwd?: string; expected?: number } = {},
) {
  const { code, stdout, stderr } = await ringback(['serve', ...args], { env: variables, cwd });
  expect(code).toBe(expected);
  expect(stderr).toMatch(/^ringback: .*\n$/);
  for (const text of [stdout, stderr])
    expect(text).not.toMatch(new RegExp(`\\n\\s+at |${secret}|${otherSecret}`));
  return stderr.slice('ringback: '.length, -1);
}

describe('serve ends with a sentence and 2 when', () => {
  it.each([
    ['no secrets are set', {}, /^This command needs the subscription's signing secret/],
    ['the secrets are empty', { RINGBACK_SECRETS: ' , ' }, /^Secret 1 .* but it is empty/],
    [
      'a secret has no prefix',
      { RINGBACK_SECRETS: `${secret}, 4711` },
      /^Secret 2 .* does not start with whsec_/,
    ],
    [
      'secrets are set in both ways',
      { RINGBACK_SECRETS: secret, RINGBACK_SECRETS_FILE: 'secrets' },
      /^The option RINGBACK_SECRETS_FILE should be the only source of secrets, .*Unset one of the two\.$/,
    ],
    [
      'a variable is misspelled',
      { RINGBACK_SECRET: secret },
      /RINGBACK_SECRET in the environment\. Did you mean RINGBACK_SECRETS\?$/,
    ],
    [
      'the port is none',
      { ...env, RINGBACK_PORT: '-1' },
      /^The option RINGBACK_PORT should be a port: .* but is "-1"\.$/,
    ],
    ['the path is none', { ...env, RINGBACK_PATH: '/:id' }, /^The option RINGBACK_PATH should be a path/],
    [
      'the path is that of a health check',
      { ...env, RINGBACK_PATH: '/healthz' },
      /^The option RINGBACK_PATH should be a path used only for deliveries, not \/healthz, \/readyz, \/metrics, \/ringback, but is "\/healthz"\./,
    ],
    [
      'the path is that of the page',
      { ...env, RINGBACK_PATH: '/Ringback/calls' },
      /^The option RINGBACK_PATH should be a path used only for deliveries.*, but is "\/Ringback\/calls"\./,
    ],
    [
      'the page is wanted and nothing guards it',
      { ...env, RINGBACK_PAGE: 'true' },
      /^The option RINGBACK_PAGE_TOKEN should be at least 16 characters .*, but is not set\. Make one with/,
    ],
    [
      'what guards the page is short',
      { ...env, RINGBACK_PAGE: 'true', RINGBACK_PAGE_TOKEN: 'hunter2' },
      /^The option RINGBACK_PAGE_TOKEN should be .*, but is 7 characters\. Make one with/,
    ],
    [
      'what guards the page ends with a line break',
      { ...env, RINGBACK_PAGE: 'true', RINGBACK_PAGE_TOKEN: `${'x'.repeat(16)}\n` },
      /^The option RINGBACK_PAGE_TOKEN should be .*, but is text with a line break .*, which nobody can type\./,
    ],
    [
      'the proxies are none',
      { ...env, RINGBACK_TRUST_PROXY: 'a, b' },
      /^The option RINGBACK_TRUST_PROXY should be a number of hops/,
    ],
    [
      'the switch is neither',
      { ...env, RINGBACK_INSECURE_HTTP: 'yes' },
      /^The option RINGBACK_INSECURE_HTTP should be true or false/,
    ],
    [
      'the log level is none',
      { ...env, RINGBACK_LOG_LEVEL: 'loud' },
      /^The option RINGBACK_LOG_LEVEL should be trace, debug,/,
    ],
    [
      'the host is empty',
      { ...env, RINGBACK_HOST: '' },
      /^The option RINGBACK_HOST should be text that is not empty, but is ""\.$/,
    ],
  ])('%s', async (_what, variables, sentence) => {
    expect(await sentenceOf([], variables, { expected: 2 })).toMatch(sentence);
  });

  it('the host is an empty argument, which would mean every address of the machine', async () => {
    expect(await sentenceOf(['--host', ''], env, { expected: 2 })).toMatch(
      /^option '--host <host>' has an invalid value\. It should be text that is not empty\.$/,
    );
  });

  it('the secrets file has a malformed secret', async () => {
    const cwd = folder({ secrets: `${secret}\nhunter22\n` });
    const sentence = await sentenceOf([], { RINGBACK_SECRETS_FILE: 'secrets' }, { cwd, expected: 2 });
    expect(sentence).toMatch(
      /^Secret 2 in the secrets file secrets should be .* does not start with whsec_\. /,
    );
    expect(sentence).not.toContain('hunter22');
  });

  // Express takes these paths in any case, and with a slash at the end.
  it.each(['/healthz', '/readyz', '/Healthz/'])('it is to take deliveries at %s', async (path) => {
    const sentence = await sentenceOf(['--path', path], env, { expected: 2 });
    expect(sentence).toMatch(/^The option --path should be a path used only for deliveries/);
    expect(sentence).toContain(`but is "${path}".`);
  });
});

describe('serve ends with a sentence and 1 when', () => {
  it.each([
    [
      'the secrets file is missing',
      { RINGBACK_SECRETS_FILE: 'secrets' },
      /^The secrets file secrets should hold one signing secret per line .* but: there is no such file\. /,
    ],
    [
      'the database is a folder',
      { ...env, RINGBACK_DATABASE: '.' },
      /^The database \/.* should be a SQLite file/,
    ],
    // An address of the range for documentation: no machine has it.
    [
      'the host is not this machine',
      { ...env, RINGBACK_HOST: '192.0.2.1' },
      /^The server can't listen on 192\.0\.2\.1:0: .*EADDRNOTAVAIL/,
    ],
  ])('%s', async (_what, variables, sentence) => {
    expect(await sentenceOf([], variables)).toMatch(sentence);
  });

  it('the secrets file has no secret', async () => {
    const cwd = folder({ secrets: '# to be filled in\n\n , \n' });
    expect(await sentenceOf([], { RINGBACK_SECRETS_FILE: 'secrets' }, { cwd })).toMatch(
      /it holds no secret\./,
    );
  });

  it('the port is in use, and leaves the inbox alone', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const cwd = folder();
    expect(await sentenceOf(['--port', String(port)], env, { cwd })).toMatch(
      new RegExp(`^The server can't listen on 127\\.0\\.0\\.1:${port}, because that port is in use\\.`),
    );
    expect(existsSync(join(cwd, 'ringback.db'))).toBe(false);
  });

  it.each([
    ['is missing', undefined, /^The app file app\.ts .* there is no such file\./],
    [
      'is no module',
      'const a = 1;\nexport default function (',
      /^The app file app\.ts .* loads, but: .* \(app\.ts:2/,
    ],
    [
      'throws while it loads',
      "throw new Error('first\\nsecond');",
      /loads, but: first \(app\.ts:1:7\)\. Check/,
    ],
    [
      'throws while it registers',
      "export default () => { throw new Error('no CRM.'); };",
      /loads, but: no CRM \(app\.ts:1:30\)\. Check/,
    ],
    [
      'imports what is not there',
      "import 'ringback-nowhere'; export default () => {};",
      /Cannot find package 'ringback-nowhere'/,
    ],
    [
      'has no default export',
      'export const app = 1;',
      /^The app file app\.ts .* but it has none\. Write: export default/,
    ],
    ['has a default export of another kind', 'export default { on: 1 };', /but it is of type object\./],
    [
      'registers one name twice',
      "export default (r) => r.on('a', () => {}).on('a', () => {});",
      /^A handler named "a" is already registered.* \(app\.ts:1:\d+\)$/,
    ],
    [
      'starts the receiver itself',
      'export default async (r) => { r.on("a", () => {}); await r.start(); };',
      /^The app file app\.ts .* `ringback serve` starts the receiver\. Leave start\(\) out of the app file\. \(app\.ts:1:\d+\)$/,
    ],
    [
      'starts the receiver itself, and does not wait for it',
      'export default (r) => void r.start();',
      /^The app file app\.ts .* Leave start\(\) out of the app file\. \(app\.ts:1:\d+\)$/,
    ],
    [
      'has options that are none',
      'export const options = 7; export default () => {};',
      /^The option export options in app\.ts should be an object .* but is of type number\./,
    ],
    [
      'has options that are still to come',
      'export const options = Promise.resolve({}); export default () => {};',
      /in app\.ts should be an object .* but is a promise \(await it first\)\./,
    ],
    [
      'has options that are null',
      'export const options = null; export default () => {};',
      /in app\.ts should be an object .* but is null\./,
    ],
    [
      'has a misspelled option',
      'export const options = { tolerence: 1 }; export default () => {};',
      /^There is no option tolerence .* Did you mean tolerance\? \(the options of app\.ts\)$/,
    ],
    [
      'has an option that the command decides',
      "export const options = { database: 'calls.db' }; export default () => {};",
      /^The option database in the options of app\.ts should be left out, but is set\. Set it by --database/,
    ],
  ])('the app file %s', async (_what, text, sentence) => {
    const cwd = folder();
    if (text !== undefined) writeFileSync(join(cwd, 'app.ts'), text);
    expect(await sentenceOf(['--app', 'app.ts'], env, { cwd })).toMatch(sentence);
  });

  it('prints where an app file went wrong in full at the log level debug', async () => {
    const cwd = folder({
      'app.mjs': "function fail() { throw new Error('no CRM'); }\nexport default () => fail();",
    });
    const { stderr } = await ringback(['serve', '--app', 'app.mjs'], {
      env: { ...env, RINGBACK_LOG_LEVEL: 'debug' },
      cwd,
    });
    expect(stderr).toMatch(/^ringback: The app file.*\nError: no CRM\n\s+at fail .*app\.mjs:1:\d+/);
  });
});
