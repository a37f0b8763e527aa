/** How much a JSON text may hold. */
export interface JsonLimits {
  /** How many values: strings, numbers, lists, objects and so on, but not the names of fields. */
  readonly values: number;
  /** How many fields one object may have. The engine keeps many fields in a table, and blocks while it enlarges that. */
  readonly fields: number;
  /** How deep lists and objects may be nested. */
  readonly depth: number;
}

/** Thrown for a text that exceeds its limits. */
export class TooComplex extends Error {}

/** How many characters are read in one go: a few milliseconds' work, whatever the text holds. */
export const partLength = 64 * 1024;

type Fields = Record<string, unknown>;

/** A list or an object whose end has not been read. */
interface Open {
  isList: boolean;
  /** Where it begins. */
  from: number;
  /** Where its own name is, with the quotes, if it is a field of an object. */
  nameFrom: number;
  nameTo: number;
  /** Where the members begin that are not made yet. */
  rest: number;
  /** The items made so far; undefined for an object, and for a list of which nothing is made yet. */
  items: unknown[] | undefined;
  /** The fields made so far; undefined for a list, and for an object of which nothing is made yet. */
  fields: Fields | undefined;
  /** Whether the last member read has been made, and its comma has not been read yet. */
  isCommaDue: boolean;
  /** How many names it has so far. */
  names: number;
}

/**
 * Reads JSON as `JSON.parse` does, with three differences: it reads in parts, so that a large text doesn't block the
 * event loop; it stops at limits, so that a text can't fill the memory; and integers that a number can't hold become
 * strings of the same digits, so that two ids don't become one.
 *
 * It finds places where the text can be cut, and lets `JSON.parse` make the values of each piece. Making them here
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
  /** Where the last string is, with its quotes. It is a name if a colon follows. */
  #stringFrom = 0;
  #stringTo = 0;
  #isAfterString = false;
  /** Begin and end, in order, of the integers that become strings when they are made. */
  readonly #integers: number[] = [];
  /** By depth; the objects are reused. The first stands for a list around the whole text. */
  readonly #open: Open[] = [begun(true, -1)];
  #depth = 0;
  #value: unknown;

  constructor(text: string, limits: JsonLimits, length = partLength) {
    this.#text = text;
    this.#limits = limits;
    this.#partLength = length;
  }

  /** The value of the text, once the last part has been read. */
  get value(): unknown {
    return this.#value;
  }

  /**
   * Reads the next part. Returns whether it was the last.
   *
   * @throws SyntaxError if the text is not JSON; TooComplex if it exceeds its limits
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

  /** Called at a colon: the string before it was a name, not a value. */
  #endName(): void {
    // An integer in place of a name must not become a string: that would be a valid name.
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

  /** Called at a comma: the text may be cut here. */
  #endMember(): void {
    const open = this.#innermost;
    if (open.isCommaDue) this.#requireBlank(open.rest);
    else if (this.#at - open.rest < this.#partLength) return;
    else this.#make(open, this.#at);
    open.isCommaDue = false;
    open.rest = this.#at + 1;
  }

  /** Called at the end of a list or an object. A short one is made later, together with what contains it. */
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

  /** The value of a list or an object that ends at the current character. */
  #valueOf(open: Open): unknown {
    if (open.isCommaDue) this.#requireBlank(open.rest);
    else this.#make(open, this.#at);
    const value = open.isList ? open.items : open.fields;
    open.items = undefined;
    open.fields = undefined;
    open.isCommaDue = false;
    return value;
  }

  /** Makes the members that end before `to`, and after them `last`, whose value is made already. */
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

  /** The text of those members, in brackets. The text of a whole list or object is not copied: it may be huge. */
  #membersOf(open: Open, to: number, isValueLeftOut: boolean): string {
    const isWhole = !isMade(open) && open.from >= 0 && to === this.#at && isEnd(this.#text.charCodeAt(to));
    if (isWhole && this.#integers.length === 0) return this.#text.slice(open.from, to + 1);
    const members = this.#textOf(open.rest, to) + (isValueLeftOut ? '[]' : '');
    return open.isList ? `[${members}]` : `{${members}}`;
  }

  #nameOf({ nameFrom, nameTo }: Open): string {
    return JSON.parse(this.#text.slice(nameFrom, nameTo)) as string;
  }

  /** A part of the text, with integers that a number can't hold written as strings. */
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

  /** `JSON.parse` doesn't see the commas at which the text was cut, so a missing value beside one is found here. */
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

/** Adds fields as `JSON.parse` does, also under the names of inherited properties such as `__proto__`. */
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

/** Whether a character is part of a number or a literal, or is invalid. False for NaN, the end of the text. */
function isOfScalar(code: number): boolean {
  if (code <= 0x20 || code === quote || code === comma || code === colon) return false;
  return code !== listBegin && code !== listEnd && code !== objectBegin && code !== objectEnd && code > 0;
}

/** An integer with fewer characters always fits into a number. */
const roundedDigits = 16;
/** An integer with more characters never fits into a number. */
const maxDigits = 17;

function isRoundedInteger(text: string): boolean {
  if (!/^-?[1-9]\d+$/.test(text)) return false;
  return text.length > maxDigits || !Number.isSafeInteger(Number(text));
}
