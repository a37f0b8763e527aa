import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/esm/encoding/cl100k_base';
import { expect, test } from 'vitest';
import {
  type ChunkOptions,
  type ChunkingStrategy,
  chunk,
  chunkingStrategies,
  chunksOf,
} from '../../../src/sandbox/knowledge/chunking/chunk.ts';
import { tokenizer } from '../../../src/sandbox/knowledge/chunking/tokenizer.ts';
import { offlineEmbedder } from '../../../src/sandbox/knowledge/embedding/embedder.ts';
import { anyText } from '../../support/any-text.ts';

const tokens = await tokenizer();
const embed = (texts: readonly string[]) => offlineEmbedder().embed(texts, { purpose: 'document' });
const plainText = { disallowedSpecial: new Set<string>() };

const cut = (text: string, options: Partial<ChunkOptions> & { readonly strategy: ChunkingStrategy }) =>
  chunk(text, { size: 20, overlap: 0, language: 'en', ...options }, tokens, embed);

const withoutSpace = (text: string) => text.replaceAll(/\s/g, '');

/** Texts as they come out of documents, and worse. */
const text = fc
  .array(
    fc.oneof(
      fc.lorem({ mode: 'sentences', maxCount: 3 }),
      fc.string({ unit: 'grapheme' }),
      anyText,
      fc.constantFrom(
        '\n',
        '\n\n',
        ' \r\n\r\n',
        '  ',
        '. ',
        '🦜',
        '👩‍👩‍👧‍👦',
        '営業時間は十時から。',
        '\u0301',
        '<|endoftext|>',
      ),
      fc.integer({ min: 1, max: 300 }).map((length) => 'x'.repeat(length)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const limits = fc
  .integer({ min: 4, max: 60 })
  .chain((size) => fc.record({ size: fc.constant(size), overlap: fc.integer({ min: 0, max: size - 1 }) }));

test.each(chunkingStrategies)(
  '%s: no chunk is too large, and nothing is lost, doubled or moved',
  { tags: 'long' },
  async (strategy) => {
    await fc.assert(
      fc.asyncProperty(text, limits, async (whole, { size, overlap }) => {
        let done = 0;
        for (const content of await cut(whole, { strategy, size, overlap })) {
          expect(tokens.count(content)).toBeLessThanOrEqual(size);
          expect(content).toBe(content.trim());
          expect(content).not.toBe('');
          // It is where it should be: at the latest after nothing but white space, at the earliest after the one before.
          const from = whole.length - whole.slice(done).trimStart().length;
          const start = overlap === 0 ? from : whole.lastIndexOf(content, from);
          expect(start === -1 ? '' : whole.slice(start, start + content.length)).toBe(content);
          done = Math.max(done, start + content.length);
        }
        expect(whole.slice(done).trim()).toBe('');
      }),
    );
  },
);

test.each(chunkingStrategies)('%s: without an overlap, the chunks are the text', async (strategy) => {
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 60 }), async (whole, size) => {
      const chunks = await cut(whole, { strategy, size });
      expect(withoutSpace(chunks.join(''))).toBe(withoutSpace(whole));
      // A pair of surrogates is never cut.
      if (whole.isWellFormed()) expect(chunks.every((content) => content.isWellFormed())).toBe(true);
    }),
  );
});

test.each(chunkingStrategies)(
  '%s: a megabyte without a space is cut, and so is nothing at all',
  { tags: 'long' },
  async (strategy) => {
    const chunks = await cut('é'.repeat(500_000), { strategy, size: 512, overlap: 0 });
    expect(chunks.join('')).toHaveLength(500_000);
    expect(await cut('', { strategy })).toEqual([]);
    expect(await cut(' \n\n ', { strategy })).toEqual([]);
  },
);

test('tokens are those of cl100k_base', () => {
  fc.assert(
    fc.property(fc.oneof(fc.lorem({ mode: 'sentences' }), fc.string({ unit: 'grapheme' })), (whole) => {
      expect(tokens.count(whole)).toBe(countTokens(whole, plainText));
    }),
  );
  expect(tokens.count('hello <|endoftext|>')).toBeGreaterThan(2);
});

test('without the package, it says what to install', () => {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve: (name, context, next) =>
        next(name, name.startsWith('gpt-tokenizer') ? { ...context, parentURL: 'file:///nowhere/' } : context),
    });
    const { tokenizer } = await import('${new URL('../../../src/sandbox/knowledge/chunking/tokenizer.ts', import.meta.url).href}');
    await tokenizer().catch(({ code, message }) => console.log(code, message));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect(output).toMatch(/^package_missing .* npm install gpt-tokenizer\.$/m);
});

const sentences = Array.from({ length: 12 }, (_, number) => `This is the sentence number ${number}.`);

test('fixed_size: a window is full, and begins with the end of the one before', async () => {
  const chunks = await cut(sentences.join(' '), { strategy: 'fixed_size', size: 10, overlap: 3 });
  expect(chunks.slice(0, 2)).toEqual([
    'This is the sentence number 0. This is',
    '. This is the sentence number 1. This',
  ]);
});

test('fixed_size: an emoji, and a letter with its accents, is not cut', async () => {
  const flags = '🇩🇪🇫🇷🇮🇹'.repeat(5);
  const chunks = await cut(flags, { strategy: 'fixed_size', size: 10 });
  expect(chunks.every((content) => /^(🇩🇪|🇫🇷|🇮🇹)+$/.test(content))).toBe(true);
});

test('sentence: whole sentences, of which the next chunk repeats as many as fit', async () => {
  const chunks = await cut(sentences.join(' '), { strategy: 'sentence', size: 22, overlap: 9 });
  expect(chunks.slice(0, 2)).toEqual([sentences.slice(0, 2).join(' '), sentences.slice(1, 3).join(' ')]);
});

test('sentence: a line break ends no sentence, and the language decides what does', async () => {
  expect(await cut('It goes\non here. And ends.', { strategy: 'sentence', size: 6 })).toEqual([
    'It goes\non here.',
    'And ends.',
  ]);
  expect(
    await cut('開店は十時です。閉店は六時です。', { strategy: 'sentence', size: 12, language: 'ja' }),
  ).toEqual(['開店は十時です。', '閉店は六時です。']);
});

test('paragraph: whole paragraphs; one that is too large is cut into its sentences', async () => {
  const whole = `Short.\n\nAlso short.\r\n\r\n${sentences.slice(0, 4).join(' ')}\n \nLast.`;
  expect(await cut(whole, { strategy: 'paragraph', size: 18 })).toEqual([
    `Short.\n\nAlso short.\r\n\r\n${sentences[0]}`,
    sentences.slice(1, 3).join(' '),
    `${sentences[3]}\n \nLast.`,
  ]);
});

test('recursive: the coarsest parts that fit, and the last words before them', async () => {
  const whole = `# Title\n\n${sentences.slice(0, 3).join(' ')}\n\nThe end.`;
  expect(await cut(whole, { strategy: 'recursive', size: 18 })).toEqual([
    '# Title',
    sentences.slice(0, 2).join(' '),
    sentences[2],
    'The end.',
  ]);
  expect((await cut(whole, { strategy: 'recursive', size: 18, overlap: 5 })).at(-1)).toBe(
    'number 2.\n\nThe end.',
  );
});

test('semantic: cut where the subject changes', async () => {
  const about = (subject: string) =>
    ['opens early', 'closes late', 'is near', 'was praised', 'has guests'].map(
      (what) => `The ${subject} ${what}.`,
    );
  const restaurant = about('restaurant').join(' ');
  const museum = about('museum').join(' ');
  expect(await cut(`${restaurant} ${museum}`, { strategy: 'semantic', size: 200 })).toEqual([
    restaurant,
    museum,
  ]);
});

test('only the semantic strategy asks for vectors', async () => {
  let asked = 0;
  for (const strategy of chunkingStrategies) {
    const options = { strategy, size: 20, overlap: 5, language: 'en' };
    await chunk(sentences.join(' '), options, tokens, async (texts) => {
      asked += 1;
      return embed(texts);
    });
  }
  expect(asked).toBe(1);
});

test(
  'a document of far more chunks than it may have is refused for that, and not for what they do to the stack',
  { tags: 'long' },
  async () => {
    const options = { strategy: 'fixed_size', size: 1, overlap: 0, language: 'en' } as const;
    await expect(chunksOf(['a', 'It is '.repeat(80_000)], options, tokens, embed)).rejects.toMatchObject({
      code: 'too_many_chunks',
      message: expect.stringMatching(
        /^The document would be split into 16\d{4} chunks, but at most 10000 are/,
      ),
    });
  },
);

test('the chunks of a document are those of its texts, in their order', async () => {
  const options = { strategy: 'paragraph', size: 20, overlap: 0, language: 'en' } as const;
  expect(await chunksOf(['One.', 'Two.', 'Three.'], options, tokens, embed)).toEqual([
    'One.',
    'Two.',
    'Three.',
  ]);
});
