// @module-tag long
/** Apps that import ringback, bundled: left out of the bundle it works, and within it says what to set. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import webpack from 'webpack';
import { type PackedProject, packProject } from './packed-project.ts';

let project: PackedProject;
let entry: string;
beforeAll(async () => {
  project = await packProject();
  entry = join(project.folder, 'server.mjs');
  writeFileSync(entry, server);
});
afterAll(() => project.remove());

/** Writes a bundle, with what the error says is to be set or without, and resolves to its path. */
type Bundle = (isLeftOut: boolean) => Promise<string>;

const esbuild =
  (format: 'esm' | 'cjs'): Bundle =>
  async (isLeftOut) => {
    const outfile = join(project.folder, `esbuild.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const external = isLeftOut ? ['ringback'] : [];
    const options = { bundle: true, platform: 'node', logLevel: 'error' } as const;
    await build({ ...options, entryPoints: [entry], format, outfile, external });
    return outfile;
  };

const webpackTo =
  (format: 'esm' | 'cjs'): Bundle =>
  (isLeftOut) => {
    const filename = `webpack.${format === 'esm' ? 'mjs' : 'cjs'}`;
    const outside: webpack.Configuration = {
      externals: [/^ringback($|\/)/],
      externalsType: 'node-commonjs',
    };
    const configuration: webpack.Configuration = {
      mode: 'none',
      target: 'node22',
      context: project.folder,
      entry,
      output: { path: project.folder, filename, module: format === 'esm' },
      experiments: { outputModule: format === 'esm' },
      ...(isLeftOut ? outside : {}),
    };
    return new Promise((resolve, reject) => {
      webpack(configuration, (error, stats) => {
        if (error || stats?.hasErrors() !== false) reject(error ?? new Error(stats?.toString('errors-only')));
        else resolve(join(project.folder, filename));
      });
    });
  };

describe.each<[string, Bundle]>([
  ['esbuild to an ES module', esbuild('esm')],
  ['esbuild to CommonJS', esbuild('cjs')],
  ['webpack to an ES module', webpackTo('esm')],
  ['webpack to CommonJS', webpackTo('cjs')],
])('an app bundled by %s', (_name, bundle) => {
  it('handles a signed delivery when ringback is left out of the bundle', async () => {
    const { stdout, stderr } = run(await bundle(true));
    expect([stdout.trim(), stderr]).toEqual(['200 accepted\nhandled c-1', '']);
  });

  it('says what to set when ringback is in the bundle', async () => {
    const { status, stdout, stderr } = run(await bundle(false));
    expect([status, stdout]).toEqual([1, '']);
    const [error] = /^(?:\w+ \[)?ConfigError.*$/m.exec(stderr) ?? [stderr];
    expect(error).toMatch(/ConfigError\]?: Ringback should run from its own files in node_modules/);
    expect(error).toContain("external: ['ringback']");
  });
});

it('an app in CommonJS that esbuild bundles to an ES module says the same', async () => {
  writeFileSync(entry.replace('.mjs', '.cjs'), `require('ringback');`);
  const outfile = join(project.folder, 'required.mjs');
  const entryPoints = [entry.replace('.mjs', '.cjs')];
  await build({ bundle: true, platform: 'node', logLevel: 'error', format: 'esm', entryPoints, outfile });
  expect(run(outfile).stderr).toContain('Ringback should run from its own files in node_modules');
});

it('the client of the platform works within a bundle', async () => {
  writeFileSync(
    entry,
    `import { createPlatform } from 'ringback/platform';
     const platform = createPlatform({ baseUrl: 'https://calls.example', apiKey: 'key' });
     console.log(typeof platform.subscriptions.ensure);`,
  );
  expect(run(await esbuild('cjs')(false)).stdout).toBe('function\n');
});

function run(bundle: string) {
  return spawnSync(process.execPath, [bundle], { cwd: project.folder, encoding: 'utf8' });
}

/** An inbox in a file, so that the receiver starts its threads. */
const server = `
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createReceiver } from 'ringback';
import { buildDelivery, deliverTo, testSecret } from 'ringback/testing';

async function main() {
  rmSync('inbox.db', { force: true });
  const receiver = createReceiver({
    secrets: testSecret, https: { required: false }, database: './inbox.db', logger: { level: 'silent' },
  });
  const handled = new Promise((resolve) => {
    receiver.on('CallHandler.CallEnded', (event) => resolve(event.payload.call_id));
  });
  await receiver.start();
  const server = createServer(receiver.nodeHandler());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const body = { traceId: 't-1', eventName: 'CallHandler.CallEnded', payload: { call_id: 'c-1' } };
  const answer = await deliverTo('http://127.0.0.1:' + server.address().port, buildDelivery(body));
  console.log(answer.status, answer.body.status);
  console.log('handled', await handled);
  server.close();
  await receiver.stop();
}
void main();
`;
