import type { Mentions } from './person-mentions.ts';
import { readable } from './readable.ts';

/**
 * Finds any of a set of ids in texts, but not as part of a longer id. It looks up each word of a text, so that the time
 * doesn't grow with the number of ids: one regular expression for half a million ids would block the event loop for
 * seconds.
 */
export class IdMentions {
  /** The ids by their first word, which appears as a whole word wherever the id does; those without a word by ''. */
  readonly #byWord = new Map<string, string[]>();

  constructor(ids: readonly string[] = []) {
    for (const id of ids) this.add(id);
  }

  add(id: string): void {
    const [word] = /[\w-]+|$/.exec(id) ?? [''];
    const others = this.#byWord.get(word);
    if (others) others.push(id);
    else this.#byWord.set(word, [id]);
  }

  /** Whether a text, or bytes, contain one of the ids. */
  readonly isIn: Mentions = (content) => {
    if (this.#byWord.size === 0) return false;
    const text = readable(content);
    if (this.#byWord.get('')?.some((id) => isWholeIn(text, id)) === true) return true;
    for (const { 0: word, index } of text.matchAll(/[\w-]+/g)) {
      const ids = this.#byWord.get(word) ?? [];
      if (ids.some((id) => isWholeAt(text, id, index - id.indexOf(word)))) return true;
    }
    return false;
  };
}

function isWholeIn(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at !== -1; at = text.indexOf(id, at + 1))
    if (isWholeAt(text, id, at)) return true;
  return false;
}

/** Whether the id is at this offset of the text, and isn't part of a longer one. */
function isWholeAt(text: string, id: string, at: number): boolean {
  if (at < 0 || !text.startsWith(id, at)) return false;
  return !isOfWord(text[at - 1]) && !isOfWord(text[at + id.length]);
}

function isOfWord(character = ''): boolean {
  return /^[\w-]$/.test(character);
}
