// @module-tag long
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, createSandbox } from '../../../src/sandbox/index.ts';
import { listening } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { createdKnowledgeBase, queuedId, upload } from './filling.ts';
import { type ShownDocument, knowledgeBasePath } from './knowledge-base-client.ts';
import { ask } from '../support.ts';

/** An embedding service that is asked and doesn't answer: the requests that it has. */
async function silentService(): Promise<{ url: string; asked: ServerResponse[] }> {
  const asked: ServerResponse[] = [];
  const port = await listening((_request, response) => void asked.push(response));
  return { url: `http://127.0.0.1:${port}`, asked };
}

test('of the documents that wait while another ends the process again and again, only that one has failed', async () => {
  const { url, asked } = await silentService();
  const options = { database: join(temporaryFolder(), 'sandbox.db'), embeddings: { url } };
  let sandbox: Sandbox | undefined;
  onTestFinished(() => sandbox?.stop());
  let apiKey: string | undefined;
  let knowledgeBase = '';
  const ids: string[] = [];
  for (let start = 1; start <= 5; start += 1) {
    sandbox = createSandbox(options);
    await sandbox.start();
    apiKey ??= sandbox.apiKey;
    if (start === 1) {
      knowledgeBase = await createdKnowledgeBase(sandbox);
      for (const name of ['deadly.txt', 'harmless.txt', 'waiting.txt']) {
        ids.push(queuedId(await upload(sandbox, knowledgeBase, { name, content: 'The garden is open.' })));
      }
    }
    await expect.poll(() => asked.length).toBe(start);
    await sandbox.stop();
  }

  sandbox = createSandbox(options);
  const last = sandbox;
  await last.start();
  // The next document is on the thread.
  await expect.poll(() => asked.length).toBe(6);
  const path = `GET ${knowledgeBasePath}/${knowledgeBase}/documents`;
  const { json } = await ask(last, path, { key: apiKey ?? null });
  const { documents } = json as { documents: readonly ShownDocument[] };
  expect(documents.map(({ document_id: id }) => id)).toEqual(ids);
  expect(documents.map(({ error }) => error?.code)).toEqual(['interrupted', undefined, undefined]);
});
