import { createPlatform } from '../platform/platform.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Subscribes a receiver at the sandbox, as at the platform, and stores the secret in the file. */
export async function subscribe(sandbox: Sandbox, url: string, secretFile: string): Promise<void> {
  const { subscriptions } = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
  await subscriptions.ensure({ name: 'demonstration', url }, { secretFile });
}
