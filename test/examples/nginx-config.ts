/** Reads as much of nginx's configuration language as the example uses. */

/** A directive, with what is between its braces. */
export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  readonly block: readonly Directive[];
}

/** @throws when braces or semicolons are missing */
export function parseNginx(text: string): Directive[] {
  const tokens = text.replaceAll(/(^|\s)#.*$/gm, '').match(/"[^"]*"|[{};]|[^\s{};"]+/g) ?? [];
  const directives = readBlock(tokens);
  if (tokens.length > 0) throw new Error('There is a } too many');
  return directives;
}

/** All directives of one name, however deep. */
export function allNamed(directives: readonly Directive[], name: string): Directive[] {
  return directives.flatMap((directive) => [
    ...(directive.name === name ? [directive] : []),
    ...allNamed(directive.block, name),
  ]);
}

/** Takes tokens off the front until the block they are in ends. */
function readBlock(tokens: string[]): Directive[] {
  const directives: Directive[] = [];
  while (tokens.length > 0 && tokens[0] !== '}') directives.push(readDirective(tokens));
  return directives;
}

function readDirective(tokens: string[]): Directive {
  const words: string[] = [];
  for (let token = tokens.shift(); token !== ';' && token !== '{'; token = tokens.shift()) {
    if (token === undefined || token === '}')
      throw new Error(`The directive ${words.join(' ')} does not end`);
    words.push(token.replace(/^"(.*)"$/, '$1'));
    if (tokens[0] === '{') return withBlock(words, tokens);
  }
  return directiveOf(words, []);
}

function withBlock(words: readonly string[], tokens: string[]): Directive {
  tokens.shift();
  const block = readBlock(tokens);
  if (tokens.shift() !== '}') throw new Error(`The block ${words.join(' ')} does not end`);
  return directiveOf(words, block);
}

function directiveOf([name = '', ...args]: readonly string[], block: readonly Directive[]): Directive {
  return { name, args, block };
}
