import express from 'express';
import { expect, onTestFinished } from 'vitest';
import { type Deployment, examine } from '../../src/cli/doctor/examine.ts';
import type { Finding } from '../../src/cli/doctor/findings.ts';
import { type ReceiverOptions, createReceiver } from '../support/public.ts';
import { listening } from '../support/servers.ts';
import { type ProcessSetting, ringback, ringbackProcess, secret } from './command.ts';

/** The finding of each check, as `status: message`. */
export type Found = Readonly<Record<string, string>>;

/** What the doctor finds for these parts of a deployment. It runs in this process, because there are many cases. */
export async function examined(parts: Partial<Deployment>): Promise<Found> {
  const nothing = { database: ':memory:', url: undefined, platform: undefined, environment: {} };
  return byCheck(await examine({ ...nothing, ...parts }));
}

/** What `ringback doctor` finds; checks that its exit code says the same. */
export async function commanded(args: readonly string[], setting: ProcessSetting = {}): Promise<Found> {
  const run = setting.node === undefined ? ringback : ringbackProcess;
  const { code, stdout, stderr } = await run(['doctor', '--json', ...args], setting);
  expect(stderr).toBe('');
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: readonly Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(findings.every(({ status }) => status !== 'wrong'));
  return byCheck(findings);
}

function byCheck(findings: readonly Finding[]): Found {
  return Object.fromEntries(findings.map(({ check, status, message }) => [check, `${status}: ${message}`]));
}

/** A receiver that takes plain HTTP. */
export const plain: ReceiverOptions = { https: { required: false } };

/** The address of a receiver in this process, behind what the test puts in front of it. */
export async function receiverAt(
  options: ReceiverOptions,
  before: (app: ReturnType<typeof express>) => unknown = () => {},
): Promise<URL> {
  const silent = { level: 'silent' };
  const receiver = createReceiver({ secrets: secret, database: ':memory:', logger: silent, ...options });
  await receiver.start();
  onTestFinished(() => receiver.stop({ drain: 0 }));
  const app = express();
  before(app);
  app.use('/webhooks', receiver.middleware());
  return new URL(`http://127.0.0.1:${await listening(app)}/webhooks`);
}
