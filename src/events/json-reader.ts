/** What a text of JSON may hold. */
export interface JsonLimits {
  /** How many values: strings, numbers, lists, objects and all else that is not the name of a field. */
  readonly values: number;
  /** How many fields one object may have. The engine holds many of them in a table, and stops the thread to enlarge it. */
  readonly fields: number;
  /** How many lists and objects may be inside one another. */
  readonly depth: number;
}

/** Thrown for a text that holds more than its limits allow. */
export class TooComplex extends Error {}

/** How much of a text is read in one go, in characters: a few milliseconds' work, whatever the text holds. */
export const partLength = 64 * 1024;

type Fields = Record<string, unknown>;

/** A list or an object that has begun and not ended. */
interface Open {
  isList: boolean;
  /** Where it begins. */
  from: number;
  /** Where its name is, with its quotes, if it is in an object. */
  nameFrom: number;
  nameTo: number;
  /** Where those of its members begin that are not made yet. */
  rest: number;
  /** The items made so far; undefined for an object, and for a list of which nothing is made yet. */
  items: unknown[] | undefined;
  /** The fields made so far; undefined for a list, and for an object of which nothing is made yet. */
  fields: Fields | undefined;
  /** Whether what was made last is the last member so far, whose comma has not come yet. */
  isCommaDue: boolean;
  /** How many names it has. */
  names: number;
}

/**
 * Reads JSON as `JSON.parse` does, with three differences: the text is read in parts, so that a large one doesn't block
 * the event loop; it is not read beyond its limits, so that it can't fill the memory; and integers that a number can't
 * hold become strings of the same digits, so that two ids don't become one.
 *
 * It looks for places where the text can be cut, and has `JSON.parse` make the values of each piece. To make them here
 * would be slower, and dangerous: added as a field, the name in `{"1009":1}` takes the memory of 1,010 items. Nothing
 * here is recursive, so no nesting overflows the stack.
 *
 * @example
 * const reader = new JsonReader(text, { values: 1_000, fields: 100, depth: 10 });
 * while (!reader.readPart()) await setImmediate();
 * reader.value;
 */
export class JsonReader {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #partLength: number;
  #at = 0;
  #values = 0;
  #isInString = false;
  /** Where the last string is, with its quotes: it is a name if a colon follows. */
  #stringFrom = 0;
  #stringTo = 0;
  #isAfterString = false;
  /** Where the integers begin and end that are to become strings and are not made yet, in order. */
  readonly #integers: number[] = [];
  /** By depth, and used again and again. The first is around the whole text, as if that were the item of a list. */
  readonly #open: Open[] = [begun(true, -1)];
  #depth = 0;
  #value: unknown;

  constructor(text: string, limits: JsonLimits, length = partLength) {
    this.#text = text;
    this.#limits = limits;
    this.#partLength = length;
  }

  /** What the text holds, once the last part has been read. */
  get value(): unknown {
    return this.#value;
  }

  /**
   * Reads the next part. Returns whether it was the last.
   *
   * @throws SyntaxError if the text is not JSON; TooComplex if it is beyond its limits
   */
  readPart(): boolean {
    const { length } = this.#text;
    const end = Math.min(this.#at + this.#partLength, length);
    while (this.#at < end) {
      if (this.#isInString) this.#readString(end);
      else this.#readToken(this.#text.charCodeAt(this.#at));
    }
    if (this.#at < length) return false;
    this.#value = this.#whole();
    return true;
  }

  #readToken(code: number): void {
    if (code === quote) return this.#beginString();
    if (isOfScalar(code)) return this.#readScalar();
    if (code === comma) this.#endMember();
    else if (code === colon) this.#endName();
    else if (code === listBegin || code === objectBegin) this.#begin(code === listBegin);
    else if (code === listEnd || code === objectEnd) this.#end(code === listEnd);
    this.#at += 1;
  }

  #beginString(): void {
    this.#count();
    this.#stringFrom = this.#at;
    this.#at += 1;
    this.#isInString = true;
  }

  #readString(end: number): void {
    const text = this.#text;
    let at = this.#at;
    while (at < end && this.#isInString) {
      const code = text.charCodeAt(at);
      at += code === backslash ? 2 : 1;
      if (code === quote) this.#isInString = false;
    }
    this.#at = at;
    this.#stringTo = at;
    this.#isAfterString = true;
  }

  /** A number, `true`, `false` or `null`. `JSON.parse` refuses anything else. */
  #readScalar(): void {
    this.#count();
    const text = this.#text;
    const from = this.#at;
    let at = from + 1;
    while (isOfScalar(text.charCodeAt(at))) at += 1;
    this.#at = at;
    this.#isAfterString = false;
    if (at - from >= roundedDigits && isRoundedInteger(text.slice(from, at))) this.#integers.push(from, at);
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#limits.values) throw new TooComplex('More values than allowed');
  }

  /** A colon: the string before it was not a value but a name. */
  #endName(): void {
    // An integer in the place of a name must not become a string, which would be one.
    if (!this.#isAfterString) throw new SyntaxError('A name that is not a string');
    this.#isAfterString = false;
    this.#values -= 1;
    const open = this.#innermost;
    open.names += 1;
    if (open.names > this.#limits.fields) throw new TooComplex('More fields than allowed');
  }

  #begin(isList: boolean): void {
    this.#count();
    this.#depth += 1;
    if (this.#depth > this.#limits.depth) throw new TooComplex('Nested deeper than allowed');
    const open = (this.#open[this.#depth] ??= begun(isList, 0));
    open.isList = isList;
    open.from = this.#at;
    open.rest = this.#at + 1;
    open.nameFrom = this.#stringFrom;
    open.nameTo = this.#stringTo;
    open.names = 0;
  }

  /** A comma: the text may be cut here. */
  #endMember(): void {
    const open = this.#innermost;
    if (open.isCommaDue) this.#requireBlank(open.rest);
    else if (this.#at - open.rest < this.#partLength) return;
    else this.#make(open, this.#at);
    open.isCommaDue = false;
    open.rest = this.#at + 1;
  }

  /** The end of a list or an object. A short one is made later, with what it is in. */
  #end(isList: boolean): void {
    const open = this.#innermost;
    if (this.#depth === 0 || open.isList !== isList) throw new SyntaxError('A bracket too many');
    this.#depth -= 1;
    if (!isMade(open) && this.#at - open.from < this.#partLength) return;
    const value = this.#valueOf(open);
    const outer = this.#innermost;
    if (outer.isCommaDue) throw new SyntaxError('No comma between two values');
    this.#make(outer, open.from, { open, value });
    outer.isCommaDue = true;
    outer.rest = this.#at + 1;
  }

  get #innermost(): Open {
    return this.#open[this.#depth] as Open;
  }

  #whole(): unknown {
    if (this.#isInString || this.#depth > 0) throw new SyntaxError('The text breaks off');
    const values = this.#valueOf(this.#innermost) as unknown[];
    if (values.length !== 1) throw new SyntaxError('Not one value');
    return values[0];
  }

  /** The value of a list or an object that ends here. */
  #valueOf(open: Open): unknown {
    if (open.isCommaDue) this.#requireBlank(open.rest);
    else this.#make(open, this.#at);
    const value = open.isList ? open.items : open.fields;
    open.items = undefined;
    open.fields = undefined;
    open.isCommaDue = false;
    return value;
  }

  /** Makes the members that end before `to`, and behind them the one of which the value is made already. */
  #make(open: Open, to: number, last?: { readonly open: Open; readonly value: unknown }): void {
    const members = this.#membersOf(open, to, last !== undefined);
    if (open.isList) {
      const items = JSON.parse(members) as unknown[];
      if (items.length === 0) this.#requireNoComma(open, to);
      if (last) items[items.length - 1] = last.value;
      if (open.items) for (const item of items) open.items.push(item);
      else open.items = items;
    } else {
      const fields = JSON.parse(members) as Fields;
      if (Object.keys(fields).length === 0) this.#requireNoComma(open, to);
      if (last) fields[this.#nameOf(last.open)] = last.value;
      if (open.fields) addTo(open.fields, fields);
      else open.fields = fields;
    }
  }

  /** The text of those members, in brackets. That of a whole list or object is not copied, since it may be huge. */
  #membersOf(open: Open, to: number, isValueLeftOut: boolean): string {
    const isWhole = !isMade(open) && open.from >= 0 && to === this.#at && isEnd(this.#text.charCodeAt(to));
    if (isWhole && this.#integers.length === 0) return this.#text.slice(open.from, to + 1);
    const members = this.#textOf(open.rest, to) + (isValueLeftOut ? '[]' : '');
    return open.isList ? `[${members}]` : `{${members}}`;
  }

  #nameOf({ nameFrom, nameTo }: Open): string {
    return JSON.parse(this.#text.slice(nameFrom, nameTo)) as string;
  }

  /** A part of the text, in which the integers are strings that a number can't hold. */
  #textOf(from: number, to: number): string {
    const pieces: string[] = [];
    let end = to;
    while ((this.#integers.at(-1) ?? -1) > from) {
      const integerTo = this.#integers.pop() as number;
      const integerFrom = this.#integers.pop() as number;
      pieces.push(`"${this.#text.slice(integerFrom, integerTo)}"${this.#text.slice(integerTo, end)}`);
      end = integerFrom;
    }
    return this.#text.slice(from, end) + pieces.toReversed().join('');
  }

  /** `JSON.parse` doesn't see the commas at which the text was cut: nothing may be between them only without one. */
  #requireNoComma(open: Open, to: number): void {
    if (isMade(open) || this.#text.charCodeAt(to) === comma) throw new SyntaxError('A comma without a value');
  }

  #requireBlank(from: number): void {
    if (!blanks.test(this.#text.slice(from, this.#at))) throw new SyntaxError('No comma behind a value');
  }
}

function begun(isList: boolean, from: number): Open {
  const nothing = { items: undefined, fields: undefined, isCommaDue: false };
  return { isList, from, nameFrom: 0, nameTo: 0, rest: from + 1, names: 0, ...nothing };
}

function isMade({ items, fields }: Open): boolean {
  return items !== undefined || fields !== undefined;
}

/** Adds fields as `JSON.parse` does: under the names of an object's inherited fields too, such as `__proto__`. */
function addTo(fields: Fields, added: Fields): void {
  for (const name of Object.keys(added)) {
    if (Object.hasOwn(fields, name) || !(name in fields)) fields[name] = added[name];
    else {
      const value = added[name];
      Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
    }
  }
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [listBegin, listEnd, objectBegin, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d];

function isEnd(code: number): boolean {
  return code === listEnd || code === objectEnd;
}

const blanks = /^[ \t\n\r]*$/;

/** Whether a character belongs to a value without quotes and brackets, or to none. Not a number: the text has ended. */
function isOfScalar(code: number): boolean {
  if (code <= 0x20 || code === quote || code === comma || code === colon) return false;
  return code !== listBegin && code !== listEnd && code !== objectBegin && code !== objectEnd && code > 0;
}

/** The least characters of an integer that a number can't hold. */
const roundedDigits = 16;
/** Whatever integer has more characters can't be held by a number. */
const maxDigits = 17;

function isRoundedInteger(text: string): boolean {
  if (!/^-?[1-9]\d+$/.test(text)) return false;
  return text.length > maxDigits || !Number.isSafeInteger(Number(text));
}
