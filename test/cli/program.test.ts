import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { explain } from '../../src/cli/failure.ts';
import { ringback, ringbackProcess, secret } from './command.ts';

const packageFile = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };

describe('the command', () => {
  it('prints the version of the package', async () => {
    expect(await ringbackProcess(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
  });

  it('prints its commands as help', { tags: 'long' }, async () => {
    const { code, stdout } = await ringback(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/serve.*send.*demo/s);
  });

  it.each([
    [['help'], 'ringback'],
    [['help', 'inbox'], 'ringback inbox'],
    [['inbox', 'help'], 'ringback inbox'],
    [['help', 'send', 'call-ended'], 'ringback send'],
    [['help', 'inbox', 'replay'], 'ringback inbox replay'],
    [['inbox', 'help', 'replay'], 'ringback inbox replay'],
    [['help', 'signature', 'verify'], 'ringback signature verify'],
  ])('prints for %j the help of %s', async (args, name) => {
    const { code, stdout, stderr } = await ringback(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: ${name} \\[options\\]`));
  });

  it('prints every option and variable of serve', async () => {
    const { code, stdout } = await ringback(['serve', '--help']);
    expect(code).toBe(0);
    const options = ['app', 'database', 'host', 'port', 'path', 'trust-proxy', 'insecure-http'];
    for (const option of options) {
      expect(stdout).toContain(`--${option}`);
      expect(stdout).toContain(`RINGBACK_${option.toUpperCase().replace('-', '_')}`);
    }
    for (const name of ['SECRETS', 'SECRETS_FILE', 'LOG_LEVEL'])
      expect(stdout).toContain(`RINGBACK_${name} `);
  });

  it.each([
    [['serve', '--prot', '1'], "unknown option '--prot' (Did you mean --port?)"],
    [['serve', 'app.ts'], 'Expected 0 arguments but got 1: app.ts. Did you mean --app app.ts?\n'],
    [['serve', 'dist/app.mjs'], 'Did you mean --app dist/app.mjs?\n'],
    [['serve', 'now'], "too many arguments for 'serve'. Expected 0 arguments but got 1: now.\n"],
    [['serve', 'a.ts', 'b.ts'], 'Expected 0 arguments but got 2: a.ts, b.ts.\n'],
    [['serve', '--app', 'a.ts', 'b.ts'], 'Expected 0 arguments but got 1: b.ts.\n'],
    [['serve', '--port', '65536'], "option '--port <number>' has an invalid value. It should be a port"],
    [['serve', '--path', 'webhooks'], 'It should be a path'],
    [['serve', '--trust-proxy', 'nobody'], 'It should be a number of hops'],
    [['serv'], "unknown command 'serv' (Did you mean serve?)\n"],
    [['bogus'], "ringback: unknown command 'bogus'. See --help.\n"],
    [['inbox', 'bogus'], "ringback: unknown command 'bogus'. See --help.\n"],
    [['inbox', 'event'], "missing required argument 'trace-id'. See --help.\n"],
    [['inbox', 'delivery', 'x'], "ringback: the value is invalid for argument 'id'. It should be the id"],
    [['help', 'serv'], "unknown command 'serv' (Did you mean serve?)"],
    [['help', 'inbox', 'replya'], "unknown command 'replya' (Did you mean replay?)"],
    [['inbox', 'help', 'replya'], "unknown command 'replya' (Did you mean replay?)"],
    [
      ['inbox', '--database', 'x.db', 'counts'],
      "unknown option '--database'. Put options after the command that they belong to.\n",
    ],
    [
      ['--app', 'app.ts', 'serve'],
      "unknown option '--app'. Put options after the command that they belong to.\n",
    ],
    [['inbox', 'counts', '--app', 'app.ts'], "ringback: unknown option '--app'\n"],
    [['serve', '--insecure-http=yes'], "ringback: the option '--insecure-http' takes no value\n"],
    [['send'], "missing the fixture's name or file"],
    [['send', 'call-ended'], "missing the option '--to <url>'. See --help.\n"],
    [['inbox', 'dismiss'], "required option '--reason <text>' not specified. See --help.\n"],
    [['send', 'call-ended', '--to', 'localhost:80'], "option '--to <url>' has an invalid value."],
    [['send', 'call-ended', '--scheme', 'foo'], "option '--scheme <name>' has an invalid value."],
    [
      ['send', 'call-ended', '--scheme', 'foo'],
      'It should be the name of a signature scheme, such as t-v1-hex-whole',
    ],
    [['send', 'call-ended', '--scheme', 'v1-hex-whol'], 'but is "v1-hex-whol". Did you mean v1-hex-whole?'],
    [['inbox', 'events', '--state', 'dea'], 'done, dead, but is "dea". Did you mean dead?'],
    [['inbox', 'calls', '--status', 'endd'], 'analysed, but is "endd". Did you mean ended?'],
    [['demo', '--pace', 'quick'], 'It should be a duration'],
    ...[['serve'], ['page'], ['inbox', 'replay'], ['inbox', 'reverify'], ['backtest']].map(
      (command): [string[], string] => [
        [...command, '--app', ''],
        "option '--app <file>' has an invalid value. It should be text that is not empty.\n",
      ],
    ),
    [['inbox', 'events', '--handler', ''], "option '--handler <name>' has an invalid value."],
    [['inbox', 'events', '--agent-id', ' '], "option '--agent-id <id>' has an invalid value."],
    [
      ['inbox', 'dismiss', '--state', 'dead', '--reason', ''],
      "option '--reason <text>' has an invalid value.",
    ],
    [['inbox', 'pause', 'journal', '--reason', ''], "option '--reason <text>' has an invalid value."],
    [['inbox', 'history', '--handler', ''], "option '--handler <name>' has an invalid value."],
    [['inbox', 'erase', '--call-id', ' '], "option '--call-id <id>' has an invalid value."],
    [['sandbox', '--adversary', ''], "option '--adversary [seed]' has an invalid value."],
    [
      ['signature', 'detect', '--request', 'one.http', ''],
      "option '--request <file...>' has an invalid value.",
    ],
    ...[
      ['backup'],
      ['signature', 'sign'],
      ['signature', 'verify'],
      ['inbox', 'event'],
      ['inbox', 'call'],
      ['inbox', 'resume'],
      ['inbox', 'mute'],
    ].map((command): [string[], string] => [[...command, ''], 'It should be text that is not empty.']),
    [['signature', 'detect', '--secret-file', ''], "'--secret-file <file>' has an invalid value."],
    [
      ['send', 'call-ended', '--to', 'http://me:word@host'],
      'should be an address without a user name or password',
    ],
    [
      ['inbox', 'counts', '--database', 'postgres://me:word@host:x/app'],
      "should be a file, or a URL such as postgres://db.example.com/app, but is a postgres:// URL that can't be read: it has several hosts, its port is no number",
    ],
    [
      ['inbox', 'counts', '--database', 'postgres://me:word@host/app?shema=calls'],
      'but is a postgres:// URL with the parameter "shema", where "schema" is meant.\n',
    ],
    [
      ['doctor', '--url', 'https://me:word@host'],
      'The option --url should be an address without a user name',
    ],
    [
      ['doctor', '--platform', 'https://me@host'],
      'The option --platform should be an address without a user',
    ],
  ])('answers %j with one line on stderr and 2', async (args, sentence) => {
    const { code, stdout, stderr } = await ringback(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^ringback: .*\n$/);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('me:word');
  });

  it.each([
    [
      ['send', 'call-ended', '--scheme', secret],
      'It should be the name of a signature scheme, such as t-v1-hex-whole',
    ],
    [
      ['send', 'call-ended', '--scheme', 'c2VjcmV0'],
      'It should be the name of a signature scheme, such as t-v1-hex-whole',
    ],
    [
      ['send', 'call-ended', '--scheme', `it's ${secret}' is invalid.\nIt`],
      'It should be the name of a signature scheme',
    ],
    [['send', 'call-ended', `--secrets=${secret}`], "unknown option '--secrets'"],
    [['send', secret, '--to', 'http://127.0.0.1:1'], "should be a fixture's name"],
    [['send', 'call-ended', secret], 'Expected 1 argument but got 2'],
    [['signature', 'verify', 'x', '--scheme', secret], 'or a scheme as JSON'],
    [['inbox', 'delivery', secret], 'It should be the id'],
    [[secret], "unknown command 'whsec_[hidden]'"],
  ])('quotes no secret that was given in the wrong place: %j', async (args, sentence) => {
    const { code, stdout, stderr } = await ringback(args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(sentence);
    expect(stdout + stderr).not.toMatch(/dGVzdC1zZWNyZXQtb25l|c2VjcmV0/);
  });

  it('quotes no secret that was set as the name of a file', async () => {
    const env = { RINGBACK_SECRETS_FILE: secret, RINGBACK_DATABASE: secret };
    for (const args of [['doctor'], ['serve']]) {
      const { code, stdout, stderr } = await ringback(args, { env });
      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain('The secrets file whsec_[hidden] should hold');
      expect(stdout + stderr).not.toContain(secret);
    }
  });

  it('prints its help to stderr and exits with 2 when no command is given', { tags: 'long' }, async () => {
    const { code, stderr } = await ringbackProcess([]);
    expect(code).toBe(2);
    expect(stderr).toContain('Usage: ringback');
  });

  it('says on a Node that is too old which one it needs, before anything else is loaded', async () => {
    const old =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, napi: '9', node: '20.1.0' } })";
    const { code, stdout, stderr } = await ringbackProcess(['serve'], {
      node: ['--import', `data:text/javascript,${old}`],
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^ringback: Ringback needs Node 22\.14 or later .* runs on Node 20\.1\.0.*\n$/);
  });
});

describe('an unexpected error', () => {
  function explained(level: string) {
    const written: string[] = [];
    const stderr = vi
      .spyOn(process.stderr, 'write')
      .mockImplementation((text) => written.push(String(text)) > 0);
    vi.stubEnv('RINGBACK_LOG_LEVEL', level);
    try {
      return { code: explain(new TypeError('first line\n  second line')), text: written.join('') };
    } finally {
      stderr.mockRestore();
      vi.unstubAllEnvs();
    }
  }

  it('is one line on stderr, without a stack, and 70', () => {
    const expected = { code: 70, text: 'ringback: unexpected error: first line second line\n' };
    expect(explained('info')).toEqual(expected);
  });

  it('comes with its stack at the log level debug', () => {
    expect(explained('debug').text).toMatch(/\n\s+at /);
  });
});
