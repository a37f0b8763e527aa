// @module-tag long
/**
 * The example next, built and started as its users do; and what is said where Ringback is in the bundle. A build takes longer
 * than all else, so one has both: beside the example, the app has its route a second time, with a receiver of a copy of the
 * package under a name that is not in serverExternalPackages.
 */
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { deliverTo } from '../../src/testing/index.ts';
import { type PackedProject, packProject } from '../package/packed-project.ts';
import { startProgram } from '../package/program.ts';
import { addWholePackages } from '../package/whole-packages.ts';
import { freePort } from '../support/free-port.ts';
import { handlesTranscript, refusesPlainHttp, secret, transcript } from './long-transcript.ts';

const root = join(import.meta.dirname, '../..');
const next = 'node_modules/next/dist/bin/next';
const env = {
  // Not that of the test runner.
  NODE_ENV: 'production',
  NEXT_TELEMETRY_DISABLED: '1',
  NEXT_MANUAL_SIG_HANDLE: 'true',
  WEBHOOK_SECRET: secret,
};
let project: PackedProject;
let starts = 0;

beforeAll(async () => {
  project = await packProject();
  const { folder } = project;
  addWholePackages(project, 'next', 'react', 'react-dom', 'typescript', '@types/node', '@types/react');
  cpSync(join(root, 'examples/next'), folder, { recursive: true });
  const compilerOptions = { strict: true, noEmit: true, allowImportingTsExtensions: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  configure();
  addBundled();
  const build = startProgram(process.execPath, [next, 'build'], { cwd: folder, env });
  // It checks the types as well.
  expect([await build.ended(), build.text()]).toEqual([0, expect.any(String)]);
});
afterAll(() => project.remove());

/** Sets options of Next beside the example's: no other build would read the cache that one writes. */
function configure(): void {
  renameSync(join(project.folder, 'next.config.ts'), join(project.folder, 'next.config.example.ts'));
  const options = `output: 'standalone', experimental: { turbopackFileSystemCacheForBuild: false }`;
  writeFileSync(
    join(project.folder, 'next.config.ts'),
    `import example from './next.config.example.ts';\nexport default { ...example, ${options} };`,
  );
}

/** Adds the example's route below `/bundled`: in that place, it finds a receiver with another package, file and owner. */
function addBundled(): void {
  const { folder, installed } = project;
  cpSync(installed, join(folder, 'node_modules/bundled'), { recursive: true });
  cpSync(join(root, 'examples/next/app'), join(folder, 'app/bundled'), { recursive: true });
  const receiver = readFileSync(join(folder, 'receiver.ts'), 'utf8');
  const changed = receiver
    .replace("'ringback'", "'bundled'")
    .replace('DATABASE', 'DATABASE_OF_BUNDLED')
    .replace('globalThis', '{}');
  writeFileSync(join(folder, 'app/receiver.ts'), changed);
}

function start(args: readonly string[], cwd = project.folder, more: Readonly<Record<string, string>> = {}) {
  // In a file, so that the receiver starts its threads.
  const databases = {
    DATABASE: `./inbox-${(starts += 1)}.db`,
    DATABASE_OF_BUNDLED: `./bundled-${starts}.db`,
  };
  const program = startProgram(process.execPath, args, { cwd, env: { ...env, ...databases, ...more } });
  onTestFinished(() => program.kill());
  return program;
}

/** Starts the build where it was made. */
async function startThere() {
  const server = start([next, 'start', '--port', '0', '--hostname', '127.0.0.1']);
  await server.written('Ready in');
  return { server, base: /http:\/\/127\.0\.0\.1:\d+/.exec(server.text())?.[0] ?? '' };
}

/** Takes the standalone output of the build to a folder of its own, as into a container, and starts it there. */
async function startStandalone() {
  const folder = `${project.folder}-standalone`;
  renameSync(join(project.folder, '.next/standalone'), folder);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // It takes no port 0.
  const port = await freePort();
  const server = start(['server.js'], folder, { HOSTNAME: '127.0.0.1', PORT: String(port) });
  await server.written('Ready in');
  return { server, base: `http://127.0.0.1:${port}` };
}

/** The error `bundled` on one line, whoever prints it. */
const bundled =
  /ConfigError\]: .*Ringback should run from its own files in node_modules,.* in Next with serverExternalPackages: \['ringback'\]\./;

it('the example next takes a long transcript through its proxy, and without serverExternalPackages it does where Turbopack has built it', async () => {
  const { server, base } = await startThere();
  await handlesTranscript(server, base);
  await handlesTranscript(server, `${base}/bundled`);
  expect(await server.lines('run_done', 2)).toHaveLength(2);
  await refusesPlainHttp(base);
  expect(await server.stop()).toBe(0);
});

it('the example next ends when its receiver can not start', async () => {
  const server = start([next, 'start', '--port', '0', '--hostname', '127.0.0.1'], project.folder, {
    DATABASE: './missing/inbox.db',
  });
  expect(await server.ended()).toBe(1);
  expect(server.text()).toContain('database_unreadable');
});

it('the example next does as a standalone output too, and without serverExternalPackages that says what to set', async () => {
  const { server, base } = await startStandalone();
  await handlesTranscript(server, base);
  await expect
    .poll(() => deliverTo(`${base}/bundled/webhooks/calls`, transcript()))
    .toMatchObject({ status: 500 });
  // It comes in pieces.
  await expect.poll(() => server.text()).toMatch(bundled);
  expect(await server.stop()).toBe(0);
});
