// @module-tag long
/** Every entry point in ES modules and in CommonJS, as Node runs them and as TypeScript resolves them. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { frameworkPackages } from './framework-tests.ts';
import { type PackedProject, addPackages, packProject, runIn } from './packed-project.ts';
import { type Modules, TypeChecker } from './type-check.ts';

/** What entry points and the examples need that the app has. */
const peers = [
  ...frameworkPackages,
  '@opentelemetry/api',
  '@prometheus-io/client',
  '@types/express',
  '@types/pg',
  'pg',
];

const examples = join(import.meta.dirname, '../../examples');
const exampleFolders = ['cluster', 'express', 'fastify', 'hono', 'nest', 'node-http'];
/** As a project that `nest new` has made, and one that runs TypeScript as it is. */
const ofExamples = {
  rewriteRelativeImportExtensions: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

let project: PackedProject;
const types = new TypeChecker();
beforeAll(async () => {
  project = await packProject();
  addPackages(project, ...peers);
});
afterAll(() => project.remove());

/** The entry points, by the names that are imported. */
function entryPoints(): string[] {
  const { exports } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8')) as {
    exports: Record<string, object | string>;
  };
  return Object.keys(exports)
    .filter((name) => typeof exports[name] === 'object')
    .map((name) => name.replace('.', 'ringback'));
}

describe('in Node', () => {
  // Where it is set, the path of the oldest Node that is supported: as a package it would be as large as all others.
  const { RINGBACK_TEST_OLDEST_NODE: oldest } = process.env;
  const nodes = [process.execPath, ...(oldest === undefined ? [] : [oldest])];
  it.each(nodes)('%s: require gives every entry point, and it is what import gives', (node) => {
    const names = entryPoints();
    expect(names.length).toBe(10);
    const script = `
      void (async () => {
        for (const name of ${JSON.stringify(names)}) {
          const required = require(name);
          console.log(name, Object.keys(required).length > 0 && required === (await import(name)));
        }
      })();`;
    const printed = runIn(project, node, '--input-type=commonjs', '--eval', script);
    expect(printed.trim().split('\n')).toEqual(names.map((name) => `${name} true`));
  });
});

describe('in TypeScript', () => {
  const node16 = { module: 'node16', moduleResolution: 'node16' };
  const nodeNext = { module: 'nodenext', moduleResolution: 'nodenext' };
  const both = { 'app.mts': app(), 'app.cts': app() };
  /** CommonJS is chosen by the file's ending, by the module setting, or by the form of the import. */
  const settings: [string, Record<string, string>, Modules][] = [
    ['node16, both', both, node16],
    ['nodenext, both', both, nodeNext],
    ['bundler, ES modules', both, { module: 'esnext', moduleResolution: 'bundler' }],
    ['bundler, CommonJS', both, { module: 'commonjs', moduleResolution: 'bundler' }],
    ['bundler, kept', { 'app.cts': app(required) }, { module: 'preserve', moduleResolution: 'bundler' }],
    ['node10, CommonJS', { 'app.ts': app() }, { module: 'commonjs', moduleResolution: 'node10' }],
  ];
  it.each(settings)('%s: an app that uses every entry point type-checks', (_name, files, modules) => {
    expect(types.errors(project, files, modules)).toEqual([]);
    expect(entryPoints().filter((name) => !app().includes(`from '${name}'`))).toEqual([]);
  });

  it('a wrong field is found in CommonJS as well', () => {
    const wrong = `
import { createReceiver } from 'ringback';
createReceiver({ secrets: 'whsec_a' }).on('CallHandler.CallEnded', (event) => event.payload.callId);`;
    const errors = types.errors(project, { 'wrong.cts': wrong }, node16);
    expect(errors).toEqual([expect.stringContaining("wrong.cts(3,93): error TS2551: Property 'callId'")]);
  });

  it('effects on Postgres are asynchronous without the types of its driver, too', async () => {
    const untyped = await packProject();
    addPackages(untyped, 'pg');
    const commits = `
import { createReceiver } from 'ringback';
import { postgres } from 'ringback/postgres';
const receiver = createReceiver({ secrets: 'whsec_a', database: postgres({ connectionString: 'postgres://a/b' }) });
await receiver.database.transaction((tx) => tx.query('create table ended (id text)'));
receiver.on('*', (event, ctx) => ctx.commit((tx) => tx.query('insert into ended values ($1)', [event.callId])));`;
    const errors = types.errors(untyped, { 'commits.mts': commits }, nodeNext);
    untyped.remove();
    // In the package's own declarations the compiler misses the types, unless skipLibCheck is set.
    expect(errors.filter((error) => !error.startsWith('node_modules/'))).toEqual([]);
  });

  it('a receiver of an ES module is one in CommonJS', () => {
    const files = {
      'receiver.mts': `
import { createReceiver } from 'ringback';
import { stop } from './stop.cjs';
await stop(createReceiver({ secrets: 'whsec_a' }));`,
      'stop.cts': `
import { Receiver, RetryLater } from 'ringback';
class RetrySoon extends RetryLater {}
export const soon: RetryLater = new RetrySoon('1s');
export const stop = (receiver: Receiver): Promise<void> | undefined =>
  receiver instanceof Receiver ? receiver.stop() : undefined;`,
    };
    expect(types.errors(project, files, nodeNext)).toEqual([]);
  });

  it('the examples of frameworks type-check', () => {
    const sources = exampleFolders.flatMap((name) =>
      globSync(`${name}/*.ts`, { cwd: examples }).map((file): [string, string] => [
        file,
        readFileSync(join(examples, file), 'utf8'),
      ]),
    );
    expect(sources.length).toBeGreaterThan(exampleFolders.length);
    expect(types.errors(project, Object.fromEntries(sources), { ...nodeNext, ...ofExamples })).toEqual([]);
  });

  it('what CommonJS compiles to runs', () => {
    const compilerOptions = { module: ts.ModuleKind.Node16, target: ts.ScriptTarget.ES2024 };
    const { outputText } = ts.transpileModule(app(), { compilerOptions, fileName: 'run.cts' });
    writeFileSync(join(project.folder, 'run.cjs'), outputText);
    expect(runIn(project, process.execPath, 'run.cjs').trim()).toBe('CallHandler.CallEnded true true');
  });
});

/** Uses a value and a type of every entry point. */
function app(written: (statement: string) => string = (statement) => statement): string {
  const imports = [
    `import { createReceiver, eventNames, Receiver, type RunContext } from 'ringback';`,
    `import { postgres, type PostgresTransaction } from 'ringback/postgres';`,
    `import { instrument, type InstrumentOptions } from 'ringback/otel';`,
    `import { collectMetrics } from 'ringback/prometheus';`,
    `import { fixtureNames, type Fixture } from 'ringback/testing';`,
    `import { createPlatform, PlatformError, type Subscription } from 'ringback/platform';`,
    `import { createSandbox, type Sandbox } from 'ringback/sandbox';`,
    `import { Unconfirmed, type Store } from 'ringback/store';`,
    `import { receiverPlugin, type ReceiverPluginOptions } from 'ringback/fastify';`,
    `import { On, RingbackModule } from 'ringback/nest';`,
  ];
  return `${imports.map(written).join('\n')}
export const receiver: Receiver = createReceiver({ secrets: 'whsec_a', database: ':memory:' });
receiver.on(eventNames.callEnded, async (event, { attempt }: RunContext) => {
  const id: string = event.payload.call_id;
  // @ts-expect-error: no such field, so the types are not lost
  return event.payload.call_idd ?? id + attempt;
});
export const shared = () =>
  createReceiver({ secrets: 'whsec_a', database: postgres({ connectionString: 'postgres://localhost/app' }) });
shared satisfies () => Receiver<PostgresTransaction>;
export type All = [InstrumentOptions, Fixture, Subscription, Sandbox, Store, ReceiverPluginOptions];
export const inNest = () => RingbackModule.forRoot({ path: '/calls', receiver: shared() });
export const sandbox: Sandbox = createSandbox();
export const functions = [instrument, collectMetrics, createPlatform, receiverPlugin, On];
export const error: unknown = new Unconfirmed('the disk', async () => {});
console.log(eventNames.callEnded, fixtureNames().length > 3, !(error instanceof PlatformError));
`;
}

/** The same import in the form that keeps `require`. */
function required(statement: string): string {
  const [, names = '', module = ''] = /\{ (.*) \} from '(.*)'/.exec(statement) ?? [];
  const object = module.replaceAll(/\W/g, '_');
  const aliases = names.split(', ').map((name) => {
    const [bound, type] = name.split(' ').toReversed();
    return type === undefined
      ? `import ${bound} = ${object}.${bound};`
      : `type ${bound} = ${object}.${bound};`;
  });
  return [`import ${object} = require('${module}');`, ...aliases].join('\n');
}
