/** Reads Markdown by hand: keeps the text as it is written, and removes only what disturbs a search. */
import { decodeText } from './decoding.ts';

const newLine = /\r\n|\r|\n/;
const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const indented = /^(?: {4}|\t)/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
const linkDefinition = /^ {0,3}\[[^\]\n]{1,200}\]:\s*\S+/;

/**
 * The text of a Markdown document with its headings, lists and code, but without link and image targets, emphasis
 * marks, code fences and front matter.
 *
 * @throws UnreadableDocument `broken`
 */
export function readMarkdown(bytes: Uint8Array): string {
  const output: string[] = [];
  // Text is collected until code begins, because a link or an emphasis may span several lines.
  let text: string[] = [];
  const endText = (): void => {
    if (text.length > 0) output.push(withoutSyntax(text.join('\n')));
    text = [];
  };
  let openFence: string | undefined;
  let isInList = false;
  let isAfterBlank = true;
  let isInCode = false;
  for (const line of withoutFrontMatter(decodeText(bytes).split(newLine))) {
    const [, mark] = fence.exec(line) ?? [];
    const isBlank = line.trim() === '';
    if (openFence !== undefined) {
      if (isClosing(line, openFence)) openFence = undefined;
      else output.push(line);
    } else if (mark !== undefined) {
      endText();
      openFence = mark;
    } else {
      isInCode = indented.test(line) && !isInList && (isAfterBlank || isInCode) && !isBlank;
      if (isInCode) {
        endText();
        output.push(line);
      } else if (!linkDefinition.test(line)) text.push(line);
      // Indented text below a list item belongs to it, and isn't code.
      if (listItem.test(line)) isInList = true;
      else if (/^\S/.test(line)) isInList = false;
    }
    isAfterBlank = isBlank;
  }
  endText();
  return output.join('\n');
}

function withoutFrontMatter(lines: readonly string[]): readonly string[] {
  if (lines[0]?.trimEnd() !== '---') return lines;
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  return end === -1 ? lines : lines.slice(end + 1);
}

function isClosing(line: string, open: string): boolean {
  const [, mark = '', rest = ''] = fence.exec(line) ?? [];
  return mark[0] === open[0] && mark.length >= open.length && rest.trim() === '';
}

// Each part is bounded, so that every text takes one pass with short look-aheads.
const codeSpan = /(?<!`)(`{1,9})(?!`)((?:[^`\n]|\n(?!\s*\n)){1,1000})(?<!`)\1(?!`)/g;
const image =
  /!\[((?:[^[\]\n]|\n(?!\s*\n)){0,1000})\](?:\((?:[^()\n]|\([^()\n]{0,500}\)){0,2000}\)|\[[^\]\n]{0,200}\])/g;
const link =
  /\[((?:[^[\]\n]|\n(?!\s*\n)){0,1000})\](?:\((?:[^()\n]|\([^()\n]{0,500}\)){0,2000}\)|\[[^\]\n]{0,200}\])/g;
const addressInBrackets = /<(https?:\/\/[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w.-]{1,255})>/g;
const strong = /(\*{2,3}|~~)(?=[^\s*~])((?:[^*~\n]|\*(?!\*)|~(?!~)|\n(?!\s*\n)){1,1000}?)(?<=\S)\1/g;
// Between letters or digits, these marks are part of the text, as in formulas and the names of files or variables.
const emphasis = /(?<![\w*])\*(?=[^\s*])([^*\n]{1,1000})(?<=\S)\*(?![\w*])/g;
const underscores =
  /(?<!\w)(_{1,3})(?=[^\s_])((?:[^_\n]|(?<=\w)_(?=\w)|\n(?!\s*\n)){1,1000}?)(?<=[^\s_])\1(?!\w)/g;

function withoutSyntax(text: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const span of text.matchAll(codeSpan)) {
    parts.push(withoutMarks(text.slice(end, span.index)), span[2] ?? '');
    end = span.index + span[0].length;
  }
  parts.push(withoutMarks(text.slice(end)));
  return parts.join('');
}

function withoutMarks(text: string): string {
  return (
    text
      .replace(image, '$1')
      .replace(link, '$1')
      .replace(addressInBrackets, '$1')
      .replace(strong, '$2')
      .replace(emphasis, '$1')
      // Once more, for emphasis within emphasis.
      .replace(underscores, '$2')
      .replace(underscores, '$2')
  );
}
