/** Documents made by hand, whole and broken. */
import { crc32, deflateRawSync } from 'node:zlib';

/** Content as a file that is submitted has it. */
export function bytesOf(content: string | Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(content));
}

/** A PDF of these pages, each a list of lines. Lines that are empty leave room. */
export function pdfOf(...pages: readonly (readonly string[])[]): Buffer {
  return pdfOfContents(
    pages.map((lines) => {
      const shown = lines.map((line) => `${line === '' ? '' : `(${line}) Tj `}0 -14 Td`).join('\n');
      return { data: Buffer.from(`BT /F1 12 Tf 72 720 Td\n${shown}\nET`) };
    }),
  );
}

/** The content of a page, as its stream holds it. */
export interface PageContent {
  readonly data: Buffer;
  /** Further entries of the stream's dictionary. */
  readonly filter?: string;
}

/** @param trailer Further entries of the trailer. */
export function pdfOfContents(
  contents: readonly PageContent[],
  trailer = '',
  further: readonly string[] = [],
): Buffer {
  const pageOf = (index: number): number => 4 + 2 * index;
  const kids = contents.map((_, index) => `${pageOf(index)} 0 R`).join(' ');
  const objects = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>`),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
    ...contents.flatMap(({ data, filter = '' }, index) => [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> ` +
          `/Contents ${pageOf(index) + 1} 0 R >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< /Length ${data.length} ${filter} >>\nstream\n`),
        data,
        Buffer.from('\nendstream'),
      ]),
    ]),
    ...further.map((object) => Buffer.from(object)),
  ];
  const parts = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let size = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    offsets.push(size);
    size += part.length;
    parts.push(part);
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${size}\n%%EOF\n`;
  parts.push(Buffer.from(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}${end}`));
  return Buffer.concat(parts);
}

/** A PDF that only its password opens. */
export function encryptedPdf(): Buffer {
  const password = '<' + '5a'.repeat(32) + '>';
  const encryption = `<< /Filter /Standard /V 1 /R 2 /O ${password} /U ${password} /P -4 >>`;
  const page = { data: Buffer.from('BT /F1 12 Tf (secret) Tj ET') };
  const id = '<' + '01'.repeat(16) + '>';
  return pdfOfContents([page], `/Encrypt 6 0 R /ID [${id} ${id}]`, [encryption]);
}

/** A file in an archive; `declared` is the size that it claims to unpack to. */
export interface ZipFile {
  readonly bytes: Buffer;
  readonly isPacked?: boolean;
  readonly declared?: number;
  readonly flags?: number;
}

/** An archive of these files, by name. */
export function zipOf(files: Readonly<Record<string, ZipFile>>): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let size = 0;
  for (const [name, { bytes, isPacked = false, declared = bytes.length, flags = 0 }] of Object.entries(
    files,
  )) {
    const data = isPacked ? deflateRawSync(bytes) : bytes;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(isPacked ? 8 : 0, 4);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(declared, 18);
    shared.writeUInt16LE(name.length, 22);
    const at = Buffer.alloc(14);
    at.writeUInt32LE(size, 10);
    centrals.push(Buffer.from('PK\u0001\u0002\u0014\0', 'latin1'), shared, at, Buffer.from(name));
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), shared, Buffer.from(name), data]);
    locals.push(local);
    size += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(size, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}

const relationships = 'http://schemas.openxmlformats.org/package/2006/relationships';
const officeDocument = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';
const wordNamespace = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';

/** The files of a Word document whose body has this XML. */
export function docxFiles(body: string): Record<string, ZipFile> {
  const document = `<w:document xmlns:w="${wordNamespace}"><w:body>${body}</w:body></w:document>`;
  const types =
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">' +
    '<Default Extension="xml" ContentType="application/xml"/></Types>';
  const links = `<Relationships xmlns="${relationships}"><Relationship Id="r1" Type="${officeDocument}" Target="word/document.xml"/></Relationships>`;
  return {
    '[Content_Types].xml': { bytes: Buffer.from(types) },
    '_rels/.rels': { bytes: Buffer.from(links) },
    'word/document.xml': { bytes: Buffer.from(document), isPacked: true },
  };
}

/** The XML of a paragraph in a Word document. */
export function paragraph(text: string): string {
  return `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
}
