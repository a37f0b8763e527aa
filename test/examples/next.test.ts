/** The example next, built and started as its users do; and what is said where Ringback is in the bundle. */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
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

/** Sets the options of Next, beside or instead of the example's. */
function configure(text: string): void {
  writeFileSync(join(project.folder, 'next.config.ts'), text);
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

it('the example next takes a long transcript through its proxy, as a standalone output too', async () => {
  renameSync(join(project.folder, 'next.config.ts'), join(project.folder, 'next.config.example.ts'));
  configure(
    `import example from './next.config.example.ts';\nexport default { ...example, output: 'standalone' };`,
  );
  expect(await failureOfBuild()).toBeUndefined();
  const there = next('start', '--port', '0', '--hostname', '127.0.0.1');
  const base = await baseOf(there);
  await handlesTranscript(there, base);
  await refusesPlainHttp(base);
  expect(await there.stop()).toBe(0);

  const standalone = await startStandalone();
  await standalone.server.written('Ready in');
  await handlesTranscript(standalone.server, standalone.base);
  expect(await standalone.server.stop()).toBe(0);
});

it('without serverExternalPackages it runs where Turbopack has built it, and as a standalone output says what to set', async () => {
  // The types have been checked.
  configure(`export default { output: 'standalone', typescript: { ignoreBuildErrors: true } };`);
  expect(await failureOfBuild()).toBeUndefined();
  const there = next('start', '--port', '0', '--hostname', '127.0.0.1');
  await handlesTranscript(there, await baseOf(there));
  expect(await there.stop()).toBe(0);

  const { server, base } = await startStandalone();
  // It comes in pieces.
  await expect.poll(() => server.text()).toMatch(bundled);
  await expect.poll(() => deliverTo(`${base}/webhooks/calls`, transcript())).toMatchObject({ status: 500 });
});
