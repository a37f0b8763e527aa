import { createPlatform } from '../platform/platform.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/**
 * Subscribes a receiver at the sandbox, as it would be subscribed at the platform. This writes the secret to the file.
 */
export async function subscribe(sandbox: Sandbox, url: string, secretFile: string): Promise<void> {
  const { subscriptions } = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
  await subscriptions.ensure({ name: 'demonstration', url }, { secretFile });
}
