import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chunk } from '../../../src/sandbox/knowledge/chunking/chunk.ts';
import { tokenizer } from '../../../src/sandbox/knowledge/chunking/tokenizer.ts';
import { Frequencies } from '../../../src/sandbox/knowledge/embedding/features.ts';
import { offlineEmbedder } from '../../../src/sandbox/knowledge/embedding/embedder.ts';
import { VectorIndex } from '../../../src/sandbox/knowledge/index/vector-index.ts';
import { type LabelledQuestion, labelledQuestions } from './labelled-questions.ts';

const docs = new URL('../../../docs/', import.meta.url);

interface Part {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

/** A part of a document from its heading to the next heading of any level. */
interface Section extends Part {
  readonly heading: string;
}

function sectionsOf(file: string, text: string): readonly Section[] {
  // A comment in an example of a shell looks like a heading.
  const prose = text.replaceAll(/^```[^]*?^```/gm, (example) => '-'.repeat(example.length));
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)];
  return headings.map((match, index) => ({
    file,
    heading: match[1] ?? '',
    start: match.index,
    end: headings[index + 1]?.index ?? text.length,
  }));
}

const embedder = offlineEmbedder();
const frequencies = new Frequencies();
const index = new VectorIndex();
const sections: Section[] = [];
const chunks: Part[] = [];

const tokens = await tokenizer();
for (const file of new Set(labelledQuestions.map((labelled) => labelled.file))) {
  const text = readFileSync(new URL(file, docs), 'utf8');
  sections.push(...sectionsOf(file, text));
  const options = { strategy: 'recursive', size: 256, overlap: 25, language: 'en' } as const;
  const texts = await chunk(text, options, tokens, async () => []);
  const vectors = await embedder.embed(texts, { purpose: 'document' });
  for (const [position, vector] of vectors.entries()) {
    const content = texts[position] ?? '';
    const previous = chunks.at(-1);
    const start = text.indexOf(content, previous?.file === file ? previous.start : 0);
    frequencies.add(content);
    index.add(chunks.length, vector);
    chunks.push({ file, start, end: start + content.length });
  }
}

/** The rank of the first chunk that lies, for the most part, in the section, or covers most of it; from 1. */
async function rankOf({ question, file, heading }: LabelledQuestion): Promise<number> {
  const section = sections.find((other) => other.file === file && other.heading === heading);
  if (!section) throw new Error(`there is no section "${heading}" in ${file}`);
  const [vector] = await embedder.embed([question], { purpose: 'query', frequencies });
  const found = index.search(vector ?? new Float32Array(), index.size);
  const rank = found.findIndex(({ id }) => {
    const part = chunks[id];
    if (part?.file !== file) return false;
    const shared = Math.min(part.end, section.end) - Math.max(part.start, section.start);
    return 2 * shared >= Math.min(part.end - part.start, section.end - section.start);
  });
  return rank === -1 ? Infinity : rank + 1;
}

test('the first five chunks answer at least three of ten questions, though these use other words', async () => {
  const ranks = await Promise.all(labelledQuestions.map(rankOf));
  const recall = ranks.filter((rank) => rank <= 5).length / ranks.length;
  // oxlint-disable-next-line no-console -- the figure is what a reader of the run wants to know
  console.info(`recall at 5: ${recall.toFixed(2)} (${ranks.length} questions, ${chunks.length} chunks)`);
  expect(recall).toBeGreaterThanOrEqual(0.3);
});
