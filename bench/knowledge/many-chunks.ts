/** Searches a knowledge base with many chunks, filled through the API. */
import { join } from 'node:path';
import { seededRandom, wholeNumber } from '../../src/sandbox/calls/seeded-random.ts';
import { isSettled } from '../../test/sandbox/knowledge/killed-run.ts';
import { KnowledgeBaseClient } from '../../test/sandbox/knowledge/knowledge-base-client.ts';
import { wordOf } from '../../test/sandbox/knowledge/mixed-documents.ts';
import { inFolder } from '../processes.ts';
import { progress } from '../report.ts';
import { mainThreadTime, memoryOf, sandboxOn } from './sandbox-command.ts';

const warmUp = 10;
const searches = 200;
const documents = 20;
const settings = { name: 'Large', chunking_strategy: 'paragraph', chunk_size: 60, chunk_overlap: 0 };
/** The size of the documents' common vocabulary; each chunk has a word of its own as well. */
const vocabulary = 5_000;

/** Times in milliseconds, memory in MB. */
export interface ManyChunks {
  readonly chunks: number;
  readonly secondsToFill: number;
  readonly times: readonly number[];
  /** The main thread's CPU time of each: what a search would take on idle cores. */
  readonly busy: readonly number[];
  /** After a restart: the first search, which reads the index, and the second one. */
  readonly first: number;
  readonly second: number;
  readonly memoryWhenFilled: number;
  /** After the restart and a few searches, and the peak. */
  readonly memory: number;
  readonly mostMemory: number;
  /** The share of the searches that found their chunk. */
  readonly found: number;
}

export function searchedLarge(chunks: number): Promise<ManyChunks> {
  return inFolder(async (folder) => {
    const start = sandboxOn(join(folder, 'sandbox.db'), 0);
    const filling = await start();
    const id = await KnowledgeBaseClient.create(filling, settings);
    const client = new KnowledgeBaseClient(filling, id);
    const startedAt = performance.now();
    const stored = await fill(client, chunks);
    const secondsToFill = (performance.now() - startedAt) / 1_000;
    progress(`${stored} chunks after ${secondsToFill.toFixed(0)} s`);

    let hits = 0;
    for (let place = 0; place < warmUp; place += 1) await client.search(questionAbout(place));
    const times: number[] = [];
    const busy: number[] = [];
    for (let place = 0; place < searches; place += 1) {
      const number = Math.floor((place * chunks) / searches);
      const ranBefore = mainThreadTime(filling.pid);
      const begunAt = performance.now();
      const found = await client.search(questionAbout(number));
      times.push(performance.now() - begunAt);
      busy.push(mainThreadTime(filling.pid) - ranBefore);
      if (found.some(({ text }) => text.includes(wordOf(number)))) hits += 1;
    }
    const memoryWhenFilled = memoryOf(filling.pid).now;
    await filling.stop();

    const restarted = await start();
    const again = new KnowledgeBaseClient(restarted, id);
    const timed = async () => {
      const begunAt = performance.now();
      await again.search(questionAbout(1));
      return performance.now() - begunAt;
    };
    const [first, second] = [await timed(), await timed()];
    const { now: memory, most: mostMemory } = memoryOf(restarted.pid);
    await restarted.stop();
    const figures = { memoryWhenFilled, memory, mostMemory, found: hits / searches };
    return { chunks: stored, secondsToFill, times, busy, first, second, ...figures };
  });
}

/** Returns how many chunks there are. */
async function fill(client: KnowledgeBaseClient, chunks: number): Promise<number> {
  const each = Math.ceil(chunks / documents);
  for (let document = 0; document < documents; document += 1) {
    const paragraphs = Array.from({ length: each }, (_, place) => paragraphOf(document * each + place));
    await client.submit({ name: `${document}.txt`, type: 'text/plain', content: paragraphs.join('\n\n') });
  }
  for (;;) {
    const found = await client.documents();
    if (found.every(isSettled)) return found.reduce((sum, { chunk_count: count }) => sum + count, 0);
    // The index is in memory from the first search on, and is updated with the documents.
    await client.search('anything');
    await new Promise((resolve) => void setTimeout(resolve, 200));
  }
}

/** A paragraph that fills a chunk: its own word, and words of a vocabulary in which some are more frequent. */
function paragraphOf(number: number): string {
  const random = seededRandom('chunk', number);
  const words = Array.from({ length: 14 }, () => commonWord(random));
  return `${words.slice(0, 7).join(' ')} ${wordOf(number)} ${words.slice(7).join(' ')}.`;
}

function questionAbout(number: number): string {
  const random = seededRandom('question', number);
  return `${commonWord(random)} ${wordOf(number)} ${commonWord(random)}`;
}

const syllables = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu'.split(' ');

function commonWord(random: () => number): string {
  const rank = Math.floor(vocabulary ** random());
  const digits = [rank % 20, Math.floor(rank / 20) % 20, Math.floor(rank / 400) % 20];
  return digits.map((digit) => syllables[digit]).join('') + (wholeNumber(random, 0, 1) === 0 ? '' : 's');
}
