/** The packed package under the test runners that its users have, with and without supertest, in ES modules and CommonJS. */
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../docs/documents.ts';
import { type PackedProject, packProject } from './packed-project.ts';

let project: PackedProject;
beforeAll(async () => {
  project = await packProject();
  for (const name of ['express', 'jest', 'jest29', 'supertest', 'vitest']) {
    symlinkSync(join(root, 'node_modules', name), join(project.folder, 'node_modules', name));
  }
});
afterAll(() => project.remove());

/** What each runner runs: the handlers without a socket, and through an app with supertest. */
const tests = `
async function started() {
  const seen = [];
  const receiver = testReceiver();
  receiver.on('CallHandler.CallEnded', (event) => { seen.push(event.payload.call_id); });
  await receiver.start();
  return { receiver, seen };
}

test('a delivery is handled', async () => {
  const { receiver, seen } = await started();
  const { body } = await deliver(receiver, buildDelivery('call-ended', { traceId: 't-1', callId: 'call_42' }));
  assert.equal(body.status, 'accepted');
  await handled(receiver, 't-1');
  assert.deepEqual(seen, ['call_42']);
  await receiver.stop({ drain: 0 });
});

test('a delivery through supertest is handled', async () => {
  const { receiver, seen } = await started();
  const app = express().use('/calls', receiver.middleware());
  const { headers, body } = buildDelivery('call-ended', { traceId: 't-2', callId: 'call_43' });
  const response = await request(app).post('/calls').set(headers).send(body.toString());
  assert.equal(response.status, 200);
  await handled(receiver, 't-2');
  assert.deepEqual(seen, ['call_43']);
  await receiver.stop({ drain: 0 });
});
`;

const imported = `
import assert from 'node:assert/strict';
import express from 'express';
import request from 'supertest';
import { buildDelivery, deliver, handled, testReceiver } from 'ringback/testing';
`;
const required = `
const assert = require('node:assert/strict');
const express = require('express');
const request = require('supertest');
const { buildDelivery, deliver, handled, testReceiver } = require('ringback/testing');
`;
/** Jest 29 can't require an ES module, whichever Node it runs on. */
const importedLater = `
const assert = require('node:assert/strict');
const express = require('express');
const request = require('supertest');
let buildDelivery, deliver, handled, testReceiver;
beforeAll(async () => {
  ({ buildDelivery, deliver, handled, testReceiver } = await import('ringback/testing'));
});
`;

const jest = (name: string) => ['--experimental-vm-modules', `node_modules/${name}/bin/jest.js`, '--rootDir'];
const runners: readonly [string, { type: string; text: string; command: readonly string[] }][] = [
  [
    'vitest',
    {
      type: 'module',
      text: `import { test } from 'vitest';${imported}`,
      command: ['node_modules/vitest/vitest.mjs', 'run', '--root'],
    },
  ],
  ['Jest 30 in ES modules', { type: 'module', text: imported, command: jest('jest') }],
  ['Jest 30 in CommonJS', { type: 'commonjs', text: required, command: jest('jest') }],
  ['Jest 29 in ES modules', { type: 'module', text: imported, command: jest('jest29') }],
  ['Jest 29 in CommonJS', { type: 'commonjs', text: importedLater, command: jest('jest29') }],
  [
    'node:test in ES modules',
    {
      type: 'module',
      text: `import test from 'node:test';${imported}`,
      command: ['--test', '--test-reporter=tap'],
    },
  ],
  [
    'node:test in CommonJS',
    {
      type: 'commonjs',
      text: `const test = require('node:test');${required}`,
      command: ['--test', '--test-reporter=tap'],
    },
  ],
];

test.each(runners)('%s', async (name, { type, text, command }) => {
  const folder = join(project.folder, name.replaceAll(/\W/g, '-'));
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
  writeFileSync(join(folder, 'calls.test.js'), text + tests);
  const target = command.includes('--test') ? join(folder, 'calls.test.js') : folder;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...command, target], {
    cwd: project.folder,
    // Not what the runner of this test has set.
    env: { ...process.env, NODE_OPTIONS: '', VITEST: undefined, NO_COLOR: '1' },
  });
  // Of two tests, in the words of each runner.
  expect(stdout + stderr).toMatch(/2 passed|# pass 2/);
});
