import { isObject } from '../../errors/option-problems.ts';

/** How many characters in a row make a quote: shorter runs are found in any two texts of a language. */
const minQuote = 16;
/** The file is looked through in steps of this length: a quote contains one of them whole, wherever it begins. */
const step = minQuote / 2;

/**
 * What the texts of an answer quote from a file, word for word: an error may explain why a file was refused, but hold
 * nothing of it. The file is gone through once, since it may be large.
 */
export function quotesFrom(file: string, answered: unknown): readonly string[] {
  const text = textsIn(answered).join('\0');
  if (text.length < minQuote) return [];
  const places = placesIn(text);
  const quoted = new Set<number>();
  const quotes = new Set<string>();
  for (let at = 0; at + step <= file.length; at += step) {
    for (const place of places.get(file.slice(at, at + step)) ?? []) {
      // Both may be one line of dashes: what is in a quote already is not gone through again.
      if (quoted.has(place)) continue;
      const { start, end } = commonAround(file, at, text, place);
      if (end - start < minQuote) continue;
      quotes.add(text.slice(start, end));
      for (let inQuote = start; inQuote < end; inQuote += 1) quoted.add(inQuote);
    }
  }
  return [...quotes];
}

/** Every text in a value, the names of fields included. */
function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') texts.push(next);
    else if (isObject(next)) waiting.push(...Object.keys(next), ...Object.values(next));
  }
  return texts;
}

/** Where each run of `step` characters begins; of one that is found very often, the first places. */
function placesIn(text: string): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (let at = 0; at + step <= text.length; at += 1) {
    const run = text.slice(at, at + step);
    const known = places.get(run);
    if (known === undefined) places.set(run, [at]);
    else if (known.length < 8) known.push(at);
  }
  return places;
}

/** Where the longest run around these two places that is the same in both is in the text. */
function commonAround(file: string, inFile: number, text: string, inText: number) {
  let before = 0;
  while (inText > before && inFile > before && file[inFile - before - 1] === text[inText - before - 1]) {
    before += 1;
  }
  let after = step;
  while (inText + after < text.length && file[inFile + after] === text[inText + after]) after += 1;
  return { start: inText - before, end: inText + after };
}
