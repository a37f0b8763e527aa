// @module-tag long
/** What an editor shows of a handler's event: the same language service answers it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KnownShape, knownShapeOf } from '../../src/events/known-shape.ts';
import { knownEventNames } from '../../src/events/names.ts';
import { payloadSchemas } from '../../src/events/schemas.ts';
import { type PackedProject, packProject } from './packed-project.ts';

/** What is shown for a place in the program. */
interface Hover {
  readonly shown: string;
  readonly documentation: string;
}

let project: PackedProject;
let hover: (marked: string) => Hover;

const payloads = {
  'CallHandler.CallStarted': 'CallStartedPayload',
  'CallHandler.CallEnded': 'CallEndedPayload',
  'CallHandler.CallTransferred': 'CallTransferredPayload',
  'callAnalysis.pcaCompleted': 'PcaCompletedPayload',
} as const;

/** Every documented field below an expression, as an expression. */
function fieldsBelow(expression: string, { fields, items }: KnownShape): readonly string[] {
  const inner = [...fields].flatMap(([name, shape]) => {
    const field = `${expression}.${name}`;
    return [field, ...fieldsBelow(shape.fields.size > 0 ? `${field}?` : field, shape)];
  });
  return items === undefined ? inner : [...inner, ...fieldsBelow(`${expression}?.[0]?`, items)];
}

const fields = knownEventNames.flatMap((name) =>
  fieldsBelow('payload', knownShapeOf(payloadSchemas[name])).map((field) => [name, field] as const),
);

/** Each line is found by its comment; what is asked about is the last name before that. */
const program = [
  "import { createReceiver } from 'ringback';",
  "const receiver = createReceiver({ secrets: 'whsec_aG92ZXI=' });",
  ...knownEventNames.flatMap((name) => [
    `receiver.on('${name}', (`,
    `  event, // event of ${name}`,
    ') => {',
    `  const { payload } = event; // event`,
    `  void event.payload; // payload of ${name}`,
    ...fields.filter(([of]) => of === name).map(([, field]) => `  void ${field}; // ${field} of ${name}`),
    '});',
  ]),
  '',
].join('\n');

beforeAll(async () => {
  project = await packProject();
  const file = join(project.folder, 'app.ts');
  writeFileSync(file, program);
  const service = languageService(project.folder, file);
  expect(service.getSemanticDiagnostics(file).map(({ messageText }) => messageText)).toEqual([]);
  hover = (marked) => {
    const comment = program.indexOf(` // ${marked}\n`);
    expect([marked, comment]).toEqual([marked, expect.toSatisfy((at: number) => at > 0)]);
    const name = /\w+\W*$/.exec(program.slice(0, comment));
    const info = service.getQuickInfoAtPosition(file, name?.index ?? 0);
    return {
      shown: ts.displayPartsToString(info?.displayParts),
      documentation: ts.displayPartsToString(info?.documentation).replaceAll('\n', ' '),
    };
  };
});
afterAll(() => project.remove());

function languageService(folder: string, file: string): ts.LanguageService {
  return ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => true,
    getCompilationSettings: () => ({
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2024,
      types: ['node'],
      strict: true,
    }),
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) =>
      ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, 'utf8')) : undefined,
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
}

describe('an editor shows', () => {
  test.each(knownEventNames)('the event and the payload of %s by name', (name) => {
    const payload = payloads[name];
    expect(hover(`event of ${name}`).shown).toBe(`(parameter) event: CallEvent<"${name}", ${payload}>`);
    expect(hover(`payload of ${name}`).shown).toMatch(new RegExp(`\\.payload: ${payload}$`));
  });

  test.each(fields)('of %s what %s means, and where that is documented', (name, field) => {
    const { shown, documentation } = hover(`${field} of ${name}`);
    expect(shown).not.toContain('{');
    expect(documentation).toMatch(
      /^[A-Z].{20,}[.] Source: "(?:Payload fields|Call transfer event body)"[.]$/v,
    );
  });

  test.each([
    ['call_summary?.duration_seconds', /number/v, /in seconds/v],
    ['call_summary', /TransferSummary/v, /before the transfer/v],
    ['transcript', /TranscriptMessage\[\]/v, /personal data/v],
    ['transcript?.[0]?.role', /Open<.*"agent".*>/v, /caller/v],
    ['status', /Open<.*"initiated".*>/v, /Others may come/v],
    ['transfer_to', /string/v, /SIP address/v],
    ['metadata?.call_start_time', /string \| number/v, /ISO 8601/v],
  ])('of a transfer the shape and the unit of %s', (field, shown, documentation) => {
    const found = hover(`payload.${field} of CallHandler.CallTransferred`);
    expect(found.shown).toMatch(shown);
    expect(found.documentation).toMatch(documentation);
  });

  test('of an analysis that its timestamp counts milliseconds', () => {
    expect(hover('payload.timestamp of callAnalysis.pcaCompleted').documentation).toContain('milliseconds');
  });
});
