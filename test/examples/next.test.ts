/** The example next, built and started as its users do; and what a build says that has Ringback in its bundle. */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { deliverTo } from '../../src/testing/index.ts';
import { type PackedProject, packProject } from '../package/packed-project.ts';
import { type Program, startProgram } from '../package/program.ts';
import { addWholePackages } from '../package/whole-packages.ts';
import { freePort } from '../support/free-port.ts';
import { handlesTranscript, refusesPlainHttp, secret, transcript } from './long-transcript.ts';

const root = join(import.meta.dirname, '../..');
let project: PackedProject;
let starts = 0;

beforeAll(async () => {
  project = await packProject();
  addWholePackages(project, 'next', 'react', 'react-dom', 'typescript', '@types/node', '@types/react');
  cpSync(join(root, 'examples/next'), project.folder, { recursive: true });
  const compilerOptions = { strict: true, noEmit: true, allowImportingTsExtensions: true };
  writeFileSync(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
});
afterAll(() => project.remove());

const env = {
  // Not that of the test runner.
  NODE_ENV: 'production',
  NEXT_TELEMETRY_DISABLED: '1',
  NEXT_MANUAL_SIG_HANDLE: 'true',
  WEBHOOK_SECRET: secret,
};

function start(args: readonly string[], cwd = project.folder, more: Readonly<Record<string, string>> = {}) {
  // In a file, so that the receiver starts its threads.
  const DATABASE = `./inbox-${(starts += 1)}.db`;
  const program = startProgram(process.execPath, args, { cwd, env: { ...env, DATABASE, ...more } });
  onTestFinished(() => program.kill());
  return program;
}

const next = (...args: readonly string[]) => start(['node_modules/next/dist/bin/next', ...args]);

/** Builds the example, which checks its types as well, and returns what was written when that fails. */
async function failureOfBuild(...options: readonly string[]): Promise<string | undefined> {
  const build = next('build', ...options);
  return (await build.ended()) === 0 ? undefined : build.text();
}

/** Where a server says that it is, once it listens. */
async function baseOf(server: Program): Promise<string> {
  await server.written('Ready in');
  return /http:\/\/127\.0\.0\.1:\d+/.exec(server.text())?.[0] ?? '';
}

/** Sets the options of Next, instead of the example's. The types have been checked with those. */
function configure(options: object): void {
  const config = { ...options, typescript: { ignoreBuildErrors: true } };
  writeFileSync(join(project.folder, 'next.config.ts'), `export default ${JSON.stringify(config)};`);
}

/** Takes the standalone output of the build to a folder of its own, as into a container, and starts it there. */
async function startStandalone() {
  const folder = `${project.folder}-standalone`;
  renameSync(join(project.folder, '.next/standalone'), folder);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // It takes no port 0.
  const port = await freePort();
  const server = start(['server.js'], folder, { HOSTNAME: '127.0.0.1', PORT: String(port) });
  return { server, base: `http://127.0.0.1:${port}` };
}

/** The error `bundled` on one line, whoever prints it. */
const bundled =
  /ConfigError\]: .*Ringback should run from its own files in node_modules,.* in Next with serverExternalPackages: \['ringback'\]\./;

describe('the example next', () => {
  it('takes a long transcript through its proxy, handles it, and ends cleanly', async () => {
    expect(await failureOfBuild()).toBeUndefined();
    const server = next('start', '--port', '0', '--hostname', '127.0.0.1');
    const base = await baseOf(server);
    await handlesTranscript(server, base);
    await refusesPlainHttp(base);
    expect(await server.stop()).toBe(0);
  });

  it('takes it as a standalone output, too', async () => {
    configure({ serverExternalPackages: ['ringback'], output: 'standalone' });
    expect(await failureOfBuild()).toBeUndefined();
    const { server, base } = await startStandalone();
    await server.written('Ready in');
    await handlesTranscript(server, base);
    expect(await server.stop()).toBe(0);
  });
});

describe('the example next without serverExternalPackages', () => {
  it('runs where Turbopack has built it, and as a standalone output says what to set', async () => {
    configure({ output: 'standalone' });
    expect(await failureOfBuild()).toBeUndefined();
    const there = next('start', '--port', '0', '--hostname', '127.0.0.1');
    await handlesTranscript(there, await baseOf(there));
    expect(await there.stop()).toBe(0);

    const { server, base } = await startStandalone();
    await server.written('Error');
    expect(server.text()).toMatch(bundled);
    const { status } = await deliverTo(`${base}/webhooks/calls`, transcript());
    expect(status).toBe(500);
  });

  it('is not built by webpack, which says what to set', async () => {
    configure({});
    expect(await failureOfBuild('--webpack')).toMatch(bundled);
  });
});
