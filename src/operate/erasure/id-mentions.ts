import type { Mentions } from './person-mentions.ts';
import { readable } from './readable.ts';

/** An id, and the offset in it of the word by which it is looked up. */
interface Indexed {
  readonly id: string;
  readonly offset: number;
}

/**
 * Finds any of a set of ids in texts, but not as part of a longer id. It looks up each word of a text, so that the time
 * doesn't grow with the number of ids: one regular expression for half a million ids would block the event loop for
 * seconds.
 */
export class IdMentions {
  /** The ids by their first word, which appears as a whole word wherever the id does. */
  readonly #byWord = new Map<string, Indexed | Indexed[]>();
  readonly #lengths = new Set<number>();
  /** Ids without any word of ASCII characters; rare. */
  readonly #wordless: string[] = [];

  constructor(ids: readonly string[] = []) {
    for (const id of ids) this.add(id);
  }

  add(id: string): void {
    const start = startOfWord(id, 0);
    if (start === id.length) return void this.#wordless.push(id);
    const word = id.slice(start, endOfWord(id, start));
    const indexed = { id, offset: start };
    const others = this.#byWord.get(word);
    if (others === undefined) this.#byWord.set(word, indexed);
    else if (Array.isArray(others)) others.push(indexed);
    else this.#byWord.set(word, [others, indexed]);
    this.#lengths.add(word.length);
  }

  /** Whether a text, or bytes, contain one of the ids. */
  readonly isIn: Mentions = (content) => {
    if (this.#byWord.size === 0 && this.#wordless.length === 0) return false;
    const text = readable(content);
    if (this.#wordless.some((id) => isWholeAnywhere(id, text))) return true;
    for (let start = startOfWord(text, 0); start < text.length;) {
      const end = endOfWord(text, start);
      // Most words have the length of no id, and aren't even sliced out.
      if (this.#lengths.has(end - start) && this.#isAt(text, start, end)) return true;
      start = startOfWord(text, end);
    }
    return false;
  };

  #isAt(text: string, start: number, end: number): boolean {
    const found = this.#byWord.get(text.slice(start, end));
    if (found === undefined) return false;
    const candidates = Array.isArray(found) ? found : [found];
    return candidates.some(({ id, offset }) => isWholeAt(id, text, start - offset));
  }
}

/** Where the next word begins, or the text's length. A word consists of ASCII letters, digits, `_` and `-`. */
function startOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isOfWord(text.charCodeAt(at))) at += 1;
  return at;
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && isOfWord(text.charCodeAt(at))) at += 1;
  return at;
}

const wordCodes = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w-]/.test(String.fromCharCode(code))),
);

function isOfWord(code: number): boolean {
  return wordCodes[code] === 1;
}

function isWholeAnywhere(id: string, text: string): boolean {
  for (let at = text.indexOf(id); at !== -1; at = text.indexOf(id, at + 1)) {
    if (isWholeAt(id, text, at)) return true;
  }
  return false;
}

/** Whether the id is at this offset of the text, and isn't part of a longer one. */
function isWholeAt(id: string, text: string, at: number): boolean {
  return (
    at >= 0 &&
    text.startsWith(id, at) &&
    !isOfWord(text.charCodeAt(at - 1)) &&
    !isOfWord(text.charCodeAt(at + id.length))
  );
}
