import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { secret } from '../support/deliveries.ts';
import { ConfigError, createReceiver, RetryLater } from '../support/public.ts';
import { made } from '../support/receiver.ts';

function problemOf(options: unknown): ConfigError {
  try {
    createReceiver(options as never);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('The receiver was made.');
}

describe('a wrong option gives a sentence', () => {
  test.each<[Record<string, unknown>, RegExp]>([
    [{ tolerance: 'soon' }, /option tolerance should be milliseconds or a duration.*'5m'.*but is "soon"/],
    [{ tolerance: -1 }, /tolerance should be .* but is -1/],
    [{ timeout: null }, /timeout should be .* but is null/],
    [{ concurrency: 0 }, /concurrency should be a whole number of 1 or more, but is 0/],
    [{ concurrency: 1.5 }, /concurrency should be a whole number of 1 or more, but is 1\.5/],
    [{ database: 7 }, /database should be a file, ':memory:', .* or a store, but is 7/],
    [{ database: '' }, /database should be .* but is ""/],
    [
      { database: 'postgres://ada:hunter#2@127.0.0.1/app' },
      /database should be .* but is a postgres:\/\/ URL that can't be read: .* is not percent-encoded\.$/,
    ],
    [
      { database: 'postgres://ada@127.0.0.1/app?shema=calls' },
      /but is a postgres:\/\/ URL with the parameter "shema", where "schema" is meant\.$/,
    ],
    [
      { database: 'postgres://ada@127.0.0.1/app?schema=Calls' },
      /but is a postgres:\/\/ URL with a schema that has other characters than lower-case letters/,
    ],
    [{ limits: { body: '5 parsecs' } }, /limits\.body should be bytes or a size.*'5mb'.*but is "5 parsecs"/],
    [{ limits: { bodyTimeout: {} } }, /limits\.bodyTimeout should be .* but is of type object/],
    [{ retry: { attempts: '3' } }, /retry\.attempts should be a whole number of 1 or more, but is "3"/],
    [{ retry: { factor: 0.5 } }, /retry\.factor should be a number of 1 or more, but is 0\.5/],
    [{ https: { trustProxy: 'lopback' } }, /https\.trustProxy should be .*'loopback'.*but is "lopback"/],
    [
      { https: { trustProxy: ['10.0.0.0/99'] } },
      /https\.trustProxy should be .* but is a list with "10\.0\.0\.0\/99" in it\.$/,
    ],
    [{ https: { required: 'no' } }, /https\.required should be true or false, but is "no"/],
    [{ https: { hosts: 'example.com' } }, /https\.hosts should be a list of host names/],
    [{ https: { hosts: [] } }, /hosts should be a list of at least one host name, but is an empty list/],
    [{ https: { hosts: [5] } }, /https\.hosts\.0 should be a host name, .* but is 5/],
    [{ https: { hosts: ['https://example.com'] } }, /hosts\.0 should be a host name, without scheme, port/],
    [{ https: { hosts: ['example.com:443'] } }, /hosts\.0 should be a host name, without scheme, port/],
    [{ https: { hosts: ['example.com/calls'] } }, /hosts\.0 should be a host name, without scheme, port/],
    [{ https: { hosts: ['*.example.com'] } }, /hosts\.0 should be a host name, without scheme, port/],
    [{ https: { hosts: [''] } }, /hosts\.0 should be a host name, without scheme, port/],
    [{ logger: 'pino' }, /logger should be a pino instance or options for one, but is "pino"/],
    [{ signature: 'v1-hex-whol' }, /signature should be .* Did you mean v1-hex-whole\?/],
    [{ signature: { syntax: 'v1=' } }, /signature should be .* but is not a scheme/],
    [{ clock: {} }, /clock should be a clock/],
    [{ clock: { now: () => 0 } }, /clock should be a clock, with the methods now, elapsed and after/],
    [{ timeout: 0 }, /timeout should be more than 0: .* but is 0/],
    [{ https: false }, /https should be an object with required, trustProxy, hosts, but is false/],
    [{ retry: 5 }, /retry should be an object with attempts, base, factor, cap, but is 5/],
    [
      { limits: 5 },
      /limits should be an object with body, inflight, bodyTimeout, values, fields and so on, but is 5/,
    ],
    [
      { limits: { inflight: '1mb' } },
      /limits\.inflight should be at least 5177344 bytes, which .* limits\.body .*, but is 1048576 bytes/,
    ],
    [
      { limits: { body: '100mb' } },
      /limits\.inflight should be at least 104792064 bytes, .* but is 67108864/,
    ],
    [{ retention: '30d' }, /retention should be an object with done, .*, traceIds, but is "30d"/],
    [{ database: '' }, /database should be a file, ':memory:', .* or a store, but is ""/],
    [{ headers: ['a'] }, /headers should be an object of header names and values, but is a list/],
    [
      { signature: { header: 'x' } },
      /not a scheme \(syntax: should be 'v1=',.*; content: should be a text such/,
    ],
    [{ signature: null }, /signature should be .* but is not a scheme \(an object with header, syntax, /],
    [
      { logger: { level: 'foo' } },
      /logger should be options that pino accepts, but is refused by pino: .*foo/,
    ],
    [
      { logger: console },
      /logger should be a pino instance or options for one, but is a logger of another kind\. Leave it out/,
    ],
    [
      { logger: Object.assign(pino({ level: 'silent' }), { isLevelEnabled: undefined }) },
      /logger should be a pino instance or options for one, but is a logger of another kind/,
    ],
    [{ logger: [] }, /logger should be a pino instance or options for one, but is an empty list/],
    [{ random: 4 }, /random should be a function, but is 4/],
  ])('%j', (options, sentence) => {
    const problem = problemOf({ secrets: secret, ...options });
    expect(problem.message).toMatch(sentence);
    expect(problem.code).toBe('option_invalid');
  });

  test('in words of its own, whatever stands in whose place', () => {
    const names = [
      'secrets headers signature tolerance https limits retention retry timeout concurrency',
      'database logger clock random https.required https.trustProxy https.hosts limits.body limits.inflight',
      'limits.bodyTimeout retention.done retention.dead retention.quarantine retention.traceIds',
      'retry.attempts retry.base retry.factor retry.cap signature.header signature.syntax signature.content',
    ];
    for (const name of names.join(' ').split(' ')) {
      const [outer = '', inner] = name.split('.');
      for (const wrong of [null, Symbol('wrong'), [{}]]) {
        const value = inner === undefined ? wrong : { [inner]: wrong };
        const { message } = problemOf({ secrets: secret, [outer]: value });
        expect([name, message]).toEqual([
          name,
          expect.not.stringMatching(/Invalid|expected|Too (small|big)/),
        ]);
      }
    }
  });

  test.each<[Record<string, unknown>, RegExp]>([
    [{ tolerence: '5m' }, /no option tolerence in createReceiver\. Did you mean tolerance\?/],
    [{ limits: { bodi: 1 } }, /no option bodi in createReceiver\.limits\. Did you mean body\?/],
    [
      { https: { trust_proxy: true } },
      /no option trust_proxy in createReceiver\.https\. Did you mean trustProxy\?/,
    ],
    [{ trustProxy: 1 }, /no option trustProxy in createReceiver\. Did you mean https\.trustProxy\?/],
    [{ zzzzzzzz: 1 }, /no option zzzzzzzz in createReceiver\. The options are: secrets, /],
  ])('that says what may have been meant: %j', (options, sentence) => {
    const problem = problemOf({ secrets: secret, ...options });
    expect(problem.message).toMatch(sentence);
    expect(problem.code).toBe('option_unknown');
  });

  test('for secrets from an environment variable that is not set', () => {
    expect(problemOf({ secrets: undefined }).message).toMatch('Is its environment variable set?');
    expect(problemOf({}).message).toMatch('neither secrets nor headers is set. Pass secrets');
    expect(problemOf({ headers: {} }).message).toMatch(
      'headers is an empty object, and secrets is not set. Pass secrets',
    );
  });

  test.each([undefined, null, 7, []])('for options that are no object with options: %j', (options) => {
    expect(problemOf(options).code).toMatch(/option_invalid|credentials_missing/);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['of a handler', { timeout: 'never' }, /option timeout in receiver\.on should be/],
    [
      'of its retry',
      { retry: { atempts: 3 } },
      /no option atempts in receiver\.on\.retry\. Did you mean attempts\?/,
    ],
    [
      'of its order',
      { order: 'calls' },
      /order in receiver\.on should be 'call', 'strict' or 'none', but is "calls"/,
    ],
    ['misspelled', { concurency: 3 }, /no option concurency in receiver\.on\. Did you mean concurrency\?/],
  ])('%s', (_, options, sentence) => {
    const { receiver } = made();
    expect(() => receiver.on('*', options, () => {})).toThrow(sentence);
  });

  test('for a handler whose timeout is 0', () => {
    const { receiver } = made();
    expect(() => receiver.on('*', { timeout: 0 }, () => {})).toThrow(
      /timeout in receiver\.on should be more than 0/,
    );
  });

  test('whose stack begins at the line to fix', () => {
    const { stack = '' } = problemOf({ secrets: secret, timeout: 0 });
    expect(stack.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^ConfigError: The option timeout/),
      expect.stringContaining('options.test.ts'),
    ]);
  });

  test('for a RetryLater whose delay is no duration', () => {
    expect(() => new RetryLater('10 minutes' as never)).toThrow(/RetryLater\(delay\) should be/);
    expect(() => new RetryLater(new Date() as never)).toThrow(
      /should be the time from now on, .* is a Date\./,
    );
    // What the header Retry-After gives when it has a date.
    expect(() => new RetryLater(Number('Wed, 21 Oct 2026 07:28:00 GMT') * 1000)).toThrow('but is NaN.');
    expect(() => new RetryLater(10n as never)).toThrow(ConfigError);
  });
});

describe('a wrong secret', () => {
  const tail = 'c2VjcmV0LXRhaWw';

  test.each<[string, unknown]>([
    ['is empty', ''],
    ['is blank', '  '],
    ['does not start with whsec_', tail],
    ['has nothing after whsec_', 'whsec_'],
    ['ends with a line break', `whsec_${tail}\n`],
    ['is the second of a list', [secret, tail]],
    ['is no text', { secret: tail }],
    ['is null', null],
    ['is an empty list', []],
  ])('gives a sentence: it %s', (_, secrets) => {
    const problem = problemOf({ secrets });
    expect(problem.code).toMatch(/secret_malformed|option_invalid/);
    expect(problem.message).not.toContain(tail);
  });

  test.each<[string, unknown]>([
    ['instead of the options', `whsec_${tail}`],
    ['under another name', { secret: `whsec_${tail}` }],
    ['as the signature', { secrets: secret, signature: `whsec_${tail}` }],
    ['as the tolerance', { secrets: secret, tolerance: `whsec_${tail}` }],
    ['as the logger', { secrets: secret, logger: `whsec_${tail}` }],
    ['as a header', { headers: { 'x-key': [`whsec_${tail}`] } }],
    ['as the headers', { headers: `whsec_${tail}` }],
  ])('is never repeated, wherever it was put: %s', (_, options) => {
    expect(problemOf(options).message).not.toContain(tail);
  });
});

test('a size, a duration and a rate take a blank before the unit, as their types do', () => {
  const { receiver } = made({ limits: { body: '5 mb' }, tolerance: '5 m' });
  expect(() => receiver.on('*', { timeout: '30 s', rate: '10 /s' }, () => {})).not.toThrow();
});
