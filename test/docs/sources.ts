/** Facts that can be read only from the text of the sources. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonLimits } from '../../src/events/json-reader.ts';
import { decodeBody } from '../../src/events/decoding.ts';
import { root } from './documents.ts';

function* sourceTexts(folder: string): Generator<string> {
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.ts')) yield readFileSync(join(root, folder, name), 'utf8');
  }
}

/** The code of every `@example` in the sources. */
export function docstringExamples(): string[] {
  const docstrings = [...sourceTexts('src')].flatMap((text) => text.match(/\/\*\*.*?\*\//gs) ?? []);
  return docstrings.flatMap((docstring) => {
    const text = docstring.slice('/**'.length, -'*/'.length).replaceAll(/^ *\* ?/gm, '');
    const [, ...examples] = text.split(/^ *@example\b/m);
    return examples.map((example) => example.replace(/^@\w.*/ms, '').replaceAll(/^```\w*$/gm, ''));
  });
}

/** Code and reason of every refusal that a stage throws, as `code reason`. */
export function refusalsThrown(): string[] {
  const thrown = [...sourceTexts('src/intake')].flatMap((text) =>
    [...text.matchAll(/\brefusal\(\s*'(\w+)',\s*'(\w+)'/gi)].map(([, code, reason]) => `${code} ${reason}`),
  );
  if (thrown.length === 0) throw new Error('No stage throws a refusal: they are written in another way now');
  return [...new Set(thrown)];
}

/** The variables of the environment that the sources name. */
export function environmentVariables(): string[] {
  const named = [...sourceTexts('src/cli')].flatMap((text) => text.match(/RINGBACK_[A-Z_]*[A-Z]\b/g) ?? []);
  return [...new Set(named)].sort();
}

/** The reasons why bytes can't be read, found by reading some bytes of each kind. */
export function unreadableReasons(): string[] {
  const unreadable = [Buffer.alloc(0), Buffer.from([0xff]), Buffer.from('{'), Buffer.from('[]')];
  const complex = reasonOf(Buffer.from('{"a":{}}'), { values: 1, fields: 1, depth: 1 });
  return [...unreadable.map((bytes) => reasonOf(bytes)), complex].sort();
}

function reasonOf(bytes: Uint8Array, limits?: JsonLimits): string {
  const decoded = decodeBody(bytes, limits);
  return decoded.ok ? 'readable' : decoded.reason;
}
