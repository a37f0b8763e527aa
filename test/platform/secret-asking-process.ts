/** Asks the platform for a subscription, whose secret is to be stored in a file. */
import { createPlatform } from '../../src/platform/index.ts';

const { baseUrl, secretFile } = JSON.parse(process.argv[2] ?? '') as {
  readonly baseUrl: string;
  readonly secretFile: string;
};
const platform = createPlatform({ baseUrl, apiKey: 'key_test' });
await platform.subscriptions.create(
  { name: 'calls', url: 'https://calls.example.com/webhooks' },
  { secretFile },
);
