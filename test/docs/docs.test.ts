import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { problems } from '../../src/errors/problems.ts';
import { fixes, refusals } from '../../src/errors/refusals.ts';
import { knownEventNames } from '../../src/events/names.ts';
import { ConfigError, createReceiver } from '../../src/index.ts';
import { resolveHandlerOptions, resolveJoinOptions } from '../../src/receiver/handler-options.ts';
import { resolveOptions } from '../../src/receiver/options.ts';
import { signatureReasons } from '../../src/signature/verify.ts';
import { Telemetry, logEventNames } from '../../src/receiver/telemetry.ts';
import { anchors, documents, links, literal, read, root, tableRows } from './documents.ts';
import { refusalsThrown, unreadableReasons } from './sources.ts';

const secrets = 'whsec_ZG9jcw==';
const column = (rows: readonly string[][], index: number) =>
  rows.map((row) => literal(row[index]?.replace(/ \*$/, '')) ?? '');

describe('the documents and the options', () => {
  const optionsIn = (path: string) => tableRows(path, 'option', 'default', 'meaning');
  const ofReceiver = optionsIn('docs/options.md');
  const ofHandler = optionsIn('docs/handlers.md');
  const ofJoin = optionsIn('docs/calls.md');
  const oneJoin = { name: 'j', events: ['a'], within: '1m' } as const;
  const handlerNames = namesAt((options) => resolveHandlerOptions(options));

  it('list the same options of a receiver', () => {
    const groups = ['alerts', 'https', 'limits', 'retention', 'retry'];
    const names = namesAt((options) => createReceiver({ secrets, ...options }));
    const nested = groups.flatMap((group) =>
      namesAt((options) => createReceiver({ secrets, [group]: options })).map((name) => `${group}.${name}`),
    );
    const flat = names.filter((name) => !groups.includes(name));
    expect(column(ofReceiver, 0).sort()).toEqual([...flat, ...nested].sort());
  });

  it('list the same options of a handler and of a join', () => {
    const joinNames = namesAt((options) => resolveJoinOptions({ ...oneJoin, ...options }));
    expect(column(ofHandler, 0).sort()).toEqual([...handlerNames].sort());
    const shared = column(ofHandler, 0).filter((name) => name !== 'order');
    expect([...shared, ...column(ofJoin, 0)].sort()).toEqual(joinNames.sort());
  });

  it('give the same defaults of a receiver', () => {
    const resolved = comparable(resolveOptions({ secrets }));
    const given = defaultsIn(ofReceiver);
    for (const [name, value] of given) {
      expect([name, comparable(resolveOptions({ secrets, ...nest(name, value) }))]).toEqual([name, resolved]);
    }
    const documented = [...given.keys()].filter((name) => name !== 'signature');
    const actual = leaves(resolved).filter((name) => name !== 'isSchemeGiven');
    expect(documented.sort()).toEqual(actual.sort());
  });

  it('give the same defaults of a handler and of a join', () => {
    expect(Object.fromEntries(defaultsIn(ofHandler))).toEqual(resolveHandlerOptions({}));
    const { name: _name, events: _events, within: _within, ...rest } = resolveJoinOptions(oneJoin);
    expect(Object.fromEntries(defaultsIn(ofJoin))).toEqual(rest);
  });
});

describe('the documents and the errors', () => {
  const table = Object.entries(refusals).map(([code, { status }]) => `${status} ${code}`);

  it('have every refusal with its status, and no other', () => {
    const rows = tableRows('docs/errors.md', 'status', 'code').map((row) => `${row[0]} ${literal(row[1])}`);
    expect(rows.sort()).toEqual([...table].sort());
  });

  it('have the headers of each refusal', () => {
    const rows = tableRows('docs/errors.md', 'status', 'code', 'headers');
    const documented = Object.fromEntries(rows.map((row) => [literal(row[1]), literal(row[2]) ?? '']));
    const actual = Object.entries(refusals).map(([code, { headers }]) => [
      code,
      Object.entries(headers)
        .map((header) => header.join(': '))
        .join(', '),
    ]);
    expect(documented).toEqual(Object.fromEntries(actual));
  });

  it('have every reason of a refusal, and mark those that come with a fix', () => {
    const rows = tableRows('docs/errors.md', 'code', 'reason');
    const documented = rows.map((row) => `${literal(row[0])} ${literal(row[1]?.replace(/ \*$/, ''))}`);
    const ofSignature = signatureReasons.map((reason) => `not_authentic ${reason}`);
    expect(documented.sort()).toEqual([...new Set([...refusalsThrown(), ...ofSignature])].sort());
    const marked = rows.filter((row) => row[1]?.endsWith(' *'));
    expect(column(marked, 1).sort()).toEqual(Object.keys(fixes).sort());
  });

  it('have every reason why a delivery is unreadable', () => {
    expect(column(tableRows('docs/errors.md', 'reason', 'meaning'), 0).sort()).toEqual(unreadableReasons());
  });

  it('have every problem, and no other', () => {
    expect(column(tableRows('docs/errors.md', 'code', 'when'), 0).sort()).toEqual(
      Object.keys(problems).sort(),
    );
  });
});

describe('the documents and the events', () => {
  it('have every log event with its level, and no other', () => {
    const documented = tableRows('docs/logs.md', 'event', 'level').map(
      (row) => `${literal(row[0])} ${row[1]}`,
    );
    expect(documented.sort()).toEqual(logEventNames.map((name) => `${name} ${levelOf(name)}`).sort());
  });

  it('explain every field of the log events', () => {
    const used = tableRows('docs/logs.md', 'event', 'level').flatMap((row) => codesIn(row[3]));
    const explained = tableRows('docs/logs.md', 'field', 'meaning').flatMap((row) => codesIn(row[0]));
    expect([...new Set(used)].filter((field) => !explained.includes(field))).toEqual([]);
    expect(explained.filter((field) => !used.includes(field) && field !== 'handlers')).toEqual([]);
  });

  it('have the known events', () => {
    expect(column(tableRows('docs/events.md', 'name', 'known event'), 0)).toEqual([...knownEventNames]);
  });
});

it('the README is short enough to decide by', () => {
  expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(10_000);
});

describe('the links of the documents', () => {
  it.each(documents())('in %s lead to something', (path) => {
    const broken = links(path).filter(({ target, heading }) => {
      if (!existsSync(join(root, target))) return true;
      return heading !== undefined && !anchors(target).includes(heading);
    });
    expect(broken).toEqual([]);
  });
});

/** The known options, as the error for an unknown option lists them; `pass` passes the options on. */
function namesAt(pass: (options: Record<string, unknown>) => unknown): string[] {
  try {
    pass({ xxxxxxxxxxxxxxxxxxxx: 1 });
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'option_unknown') {
      return (/The options are: (.*)\.$/.exec(error.message)?.[1] ?? '').split(', ');
    }
  }
  throw new Error('An unknown option was let pass');
}

/** The defaults that a table gives as values, by the name of the option. */
function defaultsIn(rows: readonly string[][]): Map<string, unknown> {
  return new Map(
    rows
      .map((row) => [literal(row[0]) ?? '', valueOf(literal(row[1]))] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** The value that a default stands for, or undefined when it is prose or the name of a function. */
function valueOf(code: string | undefined): unknown {
  if (code === undefined || !/^('.*'|true|false|\d+)$/.test(code)) return undefined;
  return code.startsWith("'") ? code.slice(1, -1) : JSON.parse(code);
}

function nest(path: string, value: unknown): Record<string, unknown> {
  const [outer = '', inner] = path.split('.');
  return { [outer]: inner === undefined ? value : { [inner]: value } };
}

/** Resolved options that can be compared: without the objects that are made anew each time. */
function comparable({
  logger: _logger,
  secrets: _secrets,
  signature: _signature,
  ...rest
}: ReturnType<typeof resolveOptions>) {
  return rest;
}

/** The dotted paths of texts, numbers and switches. */
function leaves(value: object, prefix = ''): string[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    if (['string', 'number', 'boolean'].includes(typeof inner)) return [prefix + key];
    return Object.getPrototypeOf(inner ?? 0) === Object.prototype
      ? leaves(inner as object, `${prefix}${key}.`)
      : [];
  });
}

function levelOf(name: (typeof logEventNames)[number]): string {
  const lines: { level: string }[] = [];
  const logger = pino(
    { level: 'trace', formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  new Telemetry(logger).report(name);
  return lines[0]?.level ?? '';
}

function codesIn(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
