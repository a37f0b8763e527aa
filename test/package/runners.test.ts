// @module-tag long
/** The packed package under the test runners that its users have, with and without supertest, in ES modules and CommonJS. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { frameworkPackages, frameworkTests, frameworks } from './framework-tests.ts';
import { type PackedProject, addPackages, packProject } from './packed-project.ts';
import { jestInCommonJsWithFlag, runners } from './test-runners.ts';

let project: PackedProject;
beforeAll(async () => {
  project = await packProject();
  addPackages(project, ...frameworkPackages, 'jest', 'jest29', 'supertest', 'vitest');
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
  await handled(receiver, 't-1', { within: '10m' });
  assert.deepEqual(seen, ['call_42']);
  // The runner's own Date.
  const { events } = await receiver.events.list({ since: new Date(0) });
  assert.equal(events.length, 1);
  await receiver.stop({ drain: 0 });
});

test('a delivery through supertest is handled', async () => {
  const { receiver, seen } = await started();
  const app = express().use('/calls', receiver.middleware());
  const { headers, body } = buildDelivery('call-ended', { traceId: 't-2', callId: 'call_43' });
  const response = await request(app).post('/calls').set(headers).send(body.toString());
  assert.equal(response.status, 200);
  await handled(receiver, 't-2', { within: '10m' });
  assert.deepEqual(seen, ['call_43']);
  await receiver.stop({ drain: 0 });
});
`;

/** With each runner, the frameworks that are run in it. */
const tried = Object.entries(runners).map(
  ([name, runner]) =>
    [name, runner, frameworks.filter((framework) => !Object.hasOwn(runner.lacks ?? {}, framework))] as const,
);
test.each([
  ...tried,
  // Only what is not run without the flag.
  ['Jest 30, CommonJS, with the flag', jestInCommonJsWithFlag, ['Nest']] as const,
])('%s', async (name, { type, head, command }, mounted) => {
  const folder = join(project.folder, name.replaceAll(/\W/g, '-'));
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
  writeFileSync(join(folder, 'calls.test.js'), head + tests + frameworkTests(mounted));
  const target = command.includes('--test') ? join(folder, 'calls.test.js') : folder;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...command, target], {
    cwd: project.folder,
    // Not what the runner of this test has set.
    env: { ...process.env, NODE_OPTIONS: '', VITEST: undefined, NO_COLOR: '1' },
  });
  // In the words of each runner: the two tests, and one for each framework.
  const passed = 2 + mounted.length;
  expect(stdout + stderr).toMatch(new RegExp(`\\b${passed} passed|# pass ${passed}\\b`));
});
