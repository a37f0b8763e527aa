// @module-tag long
/** An app brings its own Express, of either version: ringback brings none. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PackedProject, packProject, runIn } from './packed-project.ts';

const installedHere = join(import.meta.dirname, '../../node_modules');
let project: PackedProject;
beforeAll(async () => {
  project = await packProject();
});
afterAll(() => project.remove());

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** The names of everything that npm installs with a package. */
function installedWith(manifest: Manifest, found = new Set<string>()): Set<string> {
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    if (found.has(name)) continue;
    found.add(name);
    installedWith(manifestIn(join(installedHere, name)), found);
  }
  return found;
}

it('no Express is installed with ringback, and few other packages', () => {
  const manifest = manifestIn(project.installed);
  const found = installedWith(manifest);
  expect([...found].filter((name) => /express|body-parser/.test(name))).toEqual([]);
  expect(found).toContain('router');
  expect(found.size).toBeLessThan(30);
  expect(manifest.peerDependenciesMeta?.['express']).toEqual({ optional: true });
});

it('no version of another package that an app has keeps npm from installing ringback', () => {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifestIn(project.installed);
  expect(Object.keys(peerDependencies)).toContain('pg');
  for (const [name, range] of Object.entries(peerDependencies))
    expect({ name, range, ...peerDependenciesMeta[name] }).toEqual({ name, range: '*', optional: true });
});

it('an app on Express 4 has that one alone, and its deliveries are handled', () => {
  symlinkSync(join(installedHere, 'express4'), join(project.folder, 'node_modules/express'));
  writeFileSync(join(project.folder, 'app.cjs'), app);
  expect(runIn(project, process.execPath, 'app.cjs').trim().split('\n')).toEqual([
    '200 accepted',
    'handled call_0001',
    'express 4',
  ]);
});

/** The sandbox and the command are loaded as well: they have servers of their own. */
const app = `
const { once } = require('node:events');
const express = require('express');
const { createReceiver } = require('ringback');
const { createSandbox } = require('ringback/sandbox');
const { buildDelivery, deliverTo, testSecret } = require('ringback/testing');

void (async () => {
  const options = { secrets: testSecret, https: { required: false }, database: ':memory:' };
  const receiver = createReceiver({ ...options, logger: { level: 'silent' } });
  const handled = new Promise((resolve) => {
    receiver.on('CallHandler.CallEnded', (event) => resolve(event.payload.call_id));
  });
  await receiver.start();
  const sandbox = createSandbox();
  await sandbox.start();
  await sandbox.stop();
  const server = express().use('/calls', receiver.middleware()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = 'http://127.0.0.1:' + server.address().port + '/calls';
  const { status, body } = await deliverTo(url, buildDelivery('call-ended'));
  console.log(status, body.status);
  console.log('handled', await handled);
  const loaded = Object.keys(require.cache).filter((file) => /express\\d?\\/lib\\/express\\.js$/.test(file));
  for (const file of loaded) console.log('express', require(file + '/../../package.json').version.split('.')[0]);
  server.close();
  await receiver.stop();
})();
`;
