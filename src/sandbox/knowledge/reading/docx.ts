import { importOptional } from '../../../errors/optional-package.ts';
import { maxUnpackedBytes } from '../document-problem.ts';
import { TextBlocks } from './text-blocks.ts';
import { pack, unpack } from './zip-archive.ts';

/** A part of a Word document, as mammoth reports it. */
interface DocumentPart {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly DocumentPart[];
}

/**
 * The text of a Word document: headings and paragraphs separated by blank lines, and the rows of tables as lines,
 * without footnotes and comments.
 *
 * @throws UnreadableDocument `too_large`, `encrypted`, `broken`
 * @throws ConfigError `package_missing`
 */
export async function readDocx(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { default: mammoth } = await importOptional(
    'mammoth',
    'reading DOCX documents',
    () => import('mammoth'),
  );
  // Without pictures and fonts.
  const files = unpack(Buffer.from(bytes.buffer), (name) => /\.(?:xml|rels)$/i.test(name), maxUnpackedBytes);
  const text = new TextBlocks();
  // Mammoth's raw text has no spaces for line breaks, and turns the cells of tables into unordered paragraphs.
  const transformDocument = (document: DocumentPart): DocumentPart => {
    addText(text, document, false);
    return { ...document, children: [] };
  };
  await mammoth.convertToHtml({ buffer: pack(files) }, { transformDocument });
  return text.toString();
}

function addText(text: TextBlocks, part: DocumentPart, isInCell: boolean): void {
  const { type, value = '', children = [] } = part;
  if (type === 'text') text.add(value);
  if (type === 'tab') text.add(' ');
  if (type === 'break') breakLine(text, isInCell);
  if (type === 'tableCell' && !isInCell && !text.isAtStartOfLine) text.add(' | ');
  for (const child of children) addText(text, child, isInCell || type === 'tableCell');
  if (type === 'tableRow') breakLine(text, isInCell);
  if (type === 'paragraph' || type === 'table') endBlock(text, isInCell);
}

/** Within a table cell, nothing ends the line. */
function breakLine(text: TextBlocks, isInCell: boolean): void {
  if (isInCell) text.add(' ');
  else text.breakLine();
}

function endBlock(text: TextBlocks, isInCell: boolean): void {
  if (isInCell) text.add(' ');
  else text.endBlock();
}
