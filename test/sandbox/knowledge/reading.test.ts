import { deflateSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { DocumentFailure } from '../../../src/sandbox/knowledge/document-problem.ts';
import { ProcessingThread } from '../../../src/sandbox/knowledge/processing/processing-thread.ts';
import { type DocumentType, documentTypeOf } from '../../../src/sandbox/knowledge/reading/document-types.ts';
import type { Material } from '../../../src/sandbox/knowledge/reading/read-document.ts';
import { ManualClock } from '../../support/clock.ts';
import { clockWithoutDeadlines } from '../support.ts';
import { docxFiles, encryptedPdf, paragraph, pdfOf, pdfOfContents, zipOf } from './document-files.ts';

function read(type: DocumentType, content: Uint8Array | string): Promise<string> {
  const bytes = new Uint8Array(typeof content === 'string' ? Buffer.from(content) : content);
  return textOf(thread, { bytes, type });
}

const thread = new ProcessingThread(undefined, clockWithoutDeadlines);
afterAll(() => thread.end());

/** What was read of a document, of all chunks together: they neither leave anything out nor repeat it. */
async function textOf(
  reader: ProcessingThread,
  material: Material,
  signal = new AbortController().signal,
): Promise<string> {
  const chunking = { strategy: 'fixed_size', size: 8_191, overlap: 0, language: 'en' } as const;
  const { chunks } = await reader.process({ materials: [material], chunking, model: 'any' }, signal);
  return chunks.join('');
}

function docxOf(body: string): Buffer {
  return zipOf(docxFiles(body));
}

async function reasonFor(reading: Promise<string>): Promise<string> {
  const error = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DocumentFailure);
  const { message, code } = error as DocumentFailure;
  expect(message).toMatch(/^[A-Z][^.]+$/);
  return code;
}

describe('the type of a document', () => {
  test.each([
    ['a.bin', 'application/pdf', 'pdf'],
    ['a.txt', 'text/html; charset=utf-8', 'html'],
    ['a.pdf', 'TEXT/PLAIN', 'text'],
    ['a.md', 'text/plain', 'markdown'],
    ['a.txt', 'text/markdown', 'markdown'],
    ['a', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
    ['Handbook.DOCX', undefined, 'docx'],
    ['page.htm', 'application/octet-stream', 'html'],
    ['notes.text', '', 'text'],
    ['a.pdf', 'image/png', undefined],
    ['a.png', undefined, undefined],
    ['pdf', undefined, undefined],
    ['folder.pdf/file', undefined, undefined],
  ] as const)('of %s with the content type %s is %s', (name, contentType, type) => {
    expect(documentTypeOf({ name, contentType })).toBe(type);
  });
});

describe('a text', () => {
  test.each([
    ['UTF-8', Buffer.from('Grüße\r\n\r\n\r\n\r\nSecond   \n')],
    ['UTF-8 with a byte order mark', Buffer.from('\u{feff}Grüße\n\nSecond')],
    ['UTF-16', Buffer.from('\u{feff}Grüße\n\nSecond', 'utf16le')],
    ['UTF-16, big-endian', Buffer.from('\u{feff}Grüße\n\nSecond', 'utf16le').swap16()],
  ])('is read from %s', async (_, bytes) => {
    expect(await read('text', bytes)).toBe('Grüße\n\nSecond');
  });

  test.each([
    ['Latin-1', Buffer.from('Grüße', 'latin1')],
    ['zeros', Buffer.from('a\0b')],
    ['a PDF', pdfOf(['Line'])],
    ['an archive', docxOf(paragraph('Line'))],
  ])('of %s is broken', async (_, bytes) => {
    expect(await reasonFor(read('text', bytes))).toBe('broken');
  });

  test('leaves the bytes with the caller', { tags: 'long' }, async () => {
    const bytes = new TextEncoder().encode('Still here');
    await read('text', bytes);
    expect(new TextDecoder().decode(bytes)).toBe('Still here');
  });
});

test('Markdown keeps its text, and loses what disturbs a search', async () => {
  const markdown = [
    '---',
    'layout: page',
    '---',
    '# Opening *hours*',
    '',
    'We are **open',
    'daily**, see [our page](https://shop.example.com/a_(b) "Title"), ![the map](map.png) or [this][ref].',
    '',
    '[ref]: https://shop.example.com/',
    '',
    '[![Badge](badge.svg)](https://ci.example.com)',
    '',
    '- ~~Closed~~ _never_, `a*b*c`, snake_case_name, 2*3*4',
    '',
    '```ts',
    'const a = **b**; [c](d)',
    '```',
    '',
    'End.',
  ];
  expect(await read('markdown', markdown.join('\n'))).toBe(
    [
      '# Opening hours',
      '',
      'We are open',
      'daily, see our page, the map or this.',
      '',
      'Badge',
      '',
      '- Closed never, a*b*c, snake_case_name, 2*3*4',
      '',
      'const a = **b**; [c](d)',
      '',
      'End.',
    ].join('\n'),
  );
});

describe('a page', () => {
  const sentence =
    'The shop opens in the morning, closes at night, and is there for everybody who needs bread. ';

  test('gives its title and its main content', { tags: 'long' }, async () => {
    const page = `<!doctype html><html><head><title>Opening
      hours</title><style>p { color: red }</style></head><body>
      <nav><ul><li><a href="/a">Menu</a></li><li><a href="/b">Contact</a></li></ul></nav>
      <article><h2>Weekdays</h2><p>${sentence.repeat(5)}</p><script>alert(1)</script>
      <p>First &amp; <b>sec</b>ond<br>third. ${sentence.repeat(5)}</p><ul><li><p>Bread</p></li><li>Milk</li></ul>
      <table><tr><th>Day</th><th>From</th></tr><tr><td><p>Monday</p></td><td>7</td></tr></table>
      <pre>a\n  b</pre></article><footer><a href="/c">Imprint</a></footer></body></html>`;
    expect((await read('html', page)).split('\n\n')).toEqual([
      'Opening hours',
      'Weekdays',
      sentence.repeat(5).trim(),
      `First & second\nthird. ${sentence.repeat(5).trim()}`,
      '- Bread',
      '- Milk',
      'Day | From\nMonday | 7',
      'a\n  b',
    ]);
  });

  test.each([
    ['without a root', '<p>One<p>Two<div>Three</div>', 'One\n\nTwo\n\nThree'],
    ['of text only', 'Just text', 'Just text'],
    ['without a head', '<html><title>Title</title><body><p>One</body></html>', 'Title\n\nOne'],
    ['without a body', '<html><head><title>Title</title></head><p>One<p>Two</html>', 'Title\n\nOne\n\nTwo'],
    [
      'with text before its root',
      '<p>One</p><html><body><p>Two</p></body></html>Three',
      'One\n\nTwo\n\nThree',
    ],
    ['that names its root elsewhere', '<!-- <html> --><p>One</p>', 'One'],
    ['with what is hidden', '<body><p hidden>No</p><p>Yes</p><template>No</template></body>', 'Yes'],
    [
      'arranged by a table',
      '<table><tr><td><h1>Head</h1><p>One</p></td><td><p>Two</p></td></tr></table>',
      'Head\n\nOne\n\nTwo',
    ],
    ['nested deeper than the stack', `<body>${'<div>'.repeat(20_000)}Deep</body>`, 'Deep'],
  ])('%s gives all of its text', async (_, page, text) => {
    expect(await read('html', page)).toBe(text);
  });

  test.each([
    ['declares', '<meta charset="iso-8859-2"><p>\u{b1}</p>', 'ą'],
    ['does not declare', '<p>Gr\u{fc}\u{df}e</p>', 'Grüße'],
  ])('is read in the encoding that it %s', async (_, page, text) => {
    expect(await read('html', Buffer.from(page, 'latin1'))).toBe(text);
  });
});

describe('a PDF', () => {
  test('gives the text of all pages', async () => {
    const pdf = pdfOf(['Opening hours', '', 'We are open', 'daily.', '', 'Welcome.'], ['Second page']);
    expect(await read('pdf', pdf)).toBe('Opening hours\n\nWe are open\ndaily.\n\nWelcome.\n\nSecond page');
  });

  test('gives the text of pages that are compressed', async () => {
    const data = deflateSync('BT /F1 12 Tf 72 720 Td (Opening hours) Tj ET');
    const pdf = pdfOfContents([{ data, filter: '/Filter /FlateDecode' }]);
    expect(await read('pdf', pdf)).toBe('Opening hours');
  });

  test('with a password is encrypted', async () => {
    expect(await reasonFor(read('pdf', encryptedPdf()))).toBe('encrypted');
  });

  test('of images is empty', async () => {
    const image = 'q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q';
    expect(await reasonFor(read('pdf', pdfOfContents([{ data: Buffer.from(image) }])))).toBe('empty');
  });

  test('that unpacks to more than a gigabyte is too large', { tags: 'long' }, async () => {
    // Each two bytes are 128 blanks: PDF.js is many times as fast with these as with what zlib has packed.
    const data = Buffer.alloc(17_200_000, Buffer.from([129, 32]));
    const bomb = pdfOfContents([{ data, filter: '/Filter /RunLengthDecode' }]);
    expect(await reasonFor(read('pdf', bomb))).toBe('too_large');
  });

  test.each([
    ['which is a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['that ends early', Buffer.from('%PDF-1.7\n1 0 obj\n<<')],
  ])('%s is broken', async (_, bytes) => {
    expect(await reasonFor(read('pdf', bytes))).toBe('broken');
  });
});

describe('a Word document', () => {
  test('gives its headings, paragraphs and tables', { tags: 'long' }, async () => {
    const heading =
      '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Opening hours</w:t></w:r></w:p>';
    const broken = '<w:p><w:r><w:t>First</w:t><w:br/><w:t>second</w:t></w:r></w:p>';
    const row = (...cells: readonly string[]): string =>
      `<w:tr>${cells.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`;
    const table = `<w:tbl>${row('Day', 'From')}${row('Monday', '7')}</w:tbl>`;
    expect(await read('docx', docxOf(heading + broken + table + paragraph('End &amp; out')))).toBe(
      'Opening hours\n\nFirst\nsecond\n\nDay | From\nMonday | 7\n\nEnd & out',
    );
  });

  test('without text is empty', async () => {
    expect(await reasonFor(read('docx', docxOf('<w:p/>')))).toBe('empty');
  });

  test.each(['true', 'false'])(
    'that unpacks to more than fifty megabytes is too large, if it says so or not: %s',
    { tags: 'long' },
    async (says) => {
      const bytes = Buffer.alloc(50 * 1024 ** 2 + 1, ' ');
      const declared = says === 'true' ? bytes.length : 100;
      const bomb = zipOf({ ...docxFiles(''), 'word/document.xml': { bytes, isPacked: true, declared } });
      expect(await reasonFor(read('docx', bomb))).toBe('too_large');
    },
  );

  // Otherwise a parser that finds more parts than were counted would unpack them without a bound.
  test('is broken if the archive says that it has no files', async () => {
    const archive = docxOf(paragraph('hello'));
    archive.fill(0, archive.length - 14, archive.length - 10);
    expect(await reasonFor(read('docx', archive))).toBe('broken');
  });

  test('is broken if its text is in a part that is not counted', async () => {
    const { 'word/document.xml': text, '_rels/.rels': links, ...others } = docxFiles(paragraph('hello'));
    if (!text || !links) throw new Error('A part is missing.');
    const target = String(links.bytes).replace('document.xml', 'document.bin');
    const parts = { ...others, 'word/document.bin': text, '_rels/.rels': { bytes: Buffer.from(target) } };
    expect(await reasonFor(read('docx', zipOf(parts)))).toBe('broken');
  });

  test.each([
    ['whose files are encrypted', zipOf({ 'word/document.xml': { bytes: Buffer.from('x'), flags: 1 } })],
    [
      'with a password',
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
    ],
  ])('%s is encrypted', async (_, bytes) => {
    expect(await reasonFor(read('docx', bytes))).toBe('encrypted');
  });

  test.each([
    ['that is cut off', docxOf(paragraph('Text')).subarray(0, 300)],
    ['that is another archive', zipOf({ 'a.txt': { bytes: Buffer.from('Text') } })],
    ['that is an older one', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
    ['whose XML is not well-formed', docxOf('<w:p></w:r>')],
  ])('%s is broken', async (_, bytes) => {
    expect(await reasonFor(read('docx', bytes))).toBe('broken');
  });
});

test.each(['text', 'markdown', 'html', 'pdf', 'docx'] as const)(
  '%s without a byte is empty',
  async (type) => {
    expect(await reasonFor(read(type, ''))).toBe('empty');
  },
);

test.each(['text', 'markdown', 'html'] as const)('%s of blanks is empty', async (type) => {
  expect(await reasonFor(read(type, ' \n\t\n '))).toBe('empty');
});

test(
  'a file of more than 20 MB, and a text of more than five million characters, are too large',
  { tags: 'long' },
  async () => {
    expect(await reasonFor(read('pdf', Buffer.concat([pdfOf(['Line']), Buffer.alloc(20 * 1024 ** 2)])))).toBe(
      'too_large',
    );
    // Without a word there is little to embed.
    expect(await reasonFor(read('text', '-'.repeat(5_000_001)))).toBe('too_large');
    expect(await read('text', '-'.repeat(5_000_000))).toHaveLength(5_000_000);
  },
);

test('reading is aborted after a minute', async () => {
  const clock = new ManualClock();
  const other = new ProcessingThread(undefined, clock);
  const reading = textOf(other, { bytes: new Uint8Array(pdfOf(['Line'])), type: 'pdf' });
  await clock.timer(60_000);
  clock.advance(60_000);
  expect(await reasonFor(reading)).toBe('too_slow');
});

test('reading ends with the signal, and rejects with its reason', async () => {
  const material = { bytes: new Uint8Array(pdfOf(['Line'])), type: 'pdf' } as const;
  const abort = new AbortController();
  const reading = textOf(thread, material, abort.signal);
  const reason = new Error('stopped');
  abort.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await expect(textOf(thread, material, abort.signal)).rejects.toBe(reason);
  // The next document is read as ever.
  expect(await textOf(thread, material)).toBe('Line');
});
