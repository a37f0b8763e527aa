/** How long the sandbox takes to answer other requests while it reads, stores and loads a large document. */
import { join } from 'node:path';
import { isSettled } from '../../test/sandbox/knowledge/killed-run.ts';
import { KnowledgeBaseClient } from '../../test/sandbox/knowledge/knowledge-base-client.ts';
import { inFolder } from '../processes.ts';
import { sandboxOn } from './sandbox-command.ts';

/** As much text as a document may have, in characters. */
const size = 4_990_000;
/** Milliseconds between two requests, whether or not the last one is answered. */
const interval = 20;

/** Times in milliseconds. */
export interface Stall {
  readonly chunks: number;
  readonly seconds: number;
  readonly requests: number;
  readonly longest: number;
  /** When the slowest request was sent, as a fraction of the ingestion. */
  readonly place: number;
}

/** @param chunkSize In tokens: the smaller, the more chunks. */
export function stallWith(chunkSize: number): Promise<Stall> {
  return inFolder(async (folder) => {
    const sandbox = await sandboxOn(join(folder, 'sandbox.db'), 0)();
    const fields = { name: 'Long', chunk_size: chunkSize, chunk_overlap: 0, chunking_strategy: 'paragraph' };
    const client = new KnowledgeBaseClient(sandbox, await KnowledgeBaseClient.create(sandbox, fields));
    await client.submit({ name: 'short.txt', type: 'text/plain', content: 'A short one.' });
    while (!(await client.documents()).every(isSettled)) await pause();
    // The index is in memory, so that the long document is added to it.
    await client.search('short');
    const stall = await measured(client);
    await sandbox.stop();
    return stall;
  });
}

async function measured(client: KnowledgeBaseClient): Promise<Stall> {
  const text = longText();
  const answers: Promise<void>[] = [];
  const times: { readonly at: number; readonly time: number }[] = [];
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const at = performance.now();
    answers.push(
      client
        .document('none')
        .catch(() => {})
        .then(() => void times.push({ at, time: performance.now() - at })),
    );
  }, interval);
  const { document_id: id } = await client.submit({ name: 'long.txt', type: 'text/plain', content: text });
  let document = await client.document(id);
  while (!isSettled(document)) {
    await pause();
    document = await client.document(id);
  }
  const took = performance.now() - startedAt;
  await pause();
  clearInterval(timer);
  await Promise.all(answers);
  const longest = times.reduce((left, right) => (right.time > left.time ? right : left), { at: 0, time: 0 });
  return {
    chunks: document.chunk_count,
    seconds: took / 1_000,
    requests: times.length,
    longest: longest.time,
    place: (longest.at - startedAt) / took,
  };
}

function longText(): string {
  const paragraphs: string[] = [];
  for (let length = 0, number = 0; length < size; number += 1) {
    const paragraph = `Paragraph ${number} tells of the harbour, the garden and the ${number % 977} lanterns of the street ${number % 3_571}.`;
    paragraphs.push(paragraph);
    length += paragraph.length + 2;
  }
  return paragraphs.join('\n\n').slice(0, size);
}

function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 50));
}
