// @module-tag long
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { codeBlocks, documents, root } from './documents.ts';
import { docstringExamples } from './sources.ts';

it('every piece of TypeScript in the documents type-checks', () => {
  const blocks = documents().flatMap((path) =>
    codeBlocks(path, 'ts').map((code, index) => ({
      name: `${path.replaceAll(/\W/g, '-')}-${index}.ts`,
      code,
    })),
  );
  expect(blocks.length).toBeGreaterThan(4);
  // A wrong block, to show that the check finds errors.
  const wrong = {
    name: 'wrong.ts',
    code: "import { createReceiver } from 'ringback';\ncreateReceiver({ secret: 'whsec_a' });\n",
  };
  expect(typeErrors([...blocks, wrong])).toEqual([expect.stringContaining('wrong.ts(2,18)')]);
});

it('every example in a docstring can be parsed', () => {
  const examples = docstringExamples();
  expect(examples.length).toBeGreaterThan(100);
  // What is left out of an example is `…`.
  const broken = examples.filter((code) => !parses(code.replaceAll('…', '')) && !parses(`(${code})`));
  expect(broken).toEqual([]);
});

function parses(code: string): boolean {
  return ts.transpileModule(code, { reportDiagnostics: true }).diagnostics?.length === 0;
}

/**
 * Checks the pieces as modules of a project that has Ringback's sources under its public names. The sources themselves
 * are not checked, as the linter does that.
 */
function typeErrors(pieces: readonly { name: string; code: string }[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-docs-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const { name, code } of pieces) writeFileSync(join(folder, name), code);
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        paths: {
          ringback: [join(root, 'src/index.ts')],
          'ringback/postgres': [join(root, 'src/store/postgres/index.ts')],
          'ringback/prometheus': [join(root, 'src/prometheus/index.ts')],
          'ringback/otel': [join(root, 'src/otel/index.ts')],
          'ringback/testing': [join(root, 'src/testing/index.ts')],
          'ringback/platform': [join(root, 'src/platform/index.ts')],
          'ringback/sandbox': [join(root, 'src/sandbox/index.ts')],
          'ringback/fastify': [join(root, 'src/fastify/index.ts')],
          'ringback/nest': [join(root, 'src/nest/index.ts')],
        },
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: ['*.ts'],
    };
    const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
    expect(errors).toEqual([]);
    const program = ts.createProgram(fileNames, options);
    const found = fileNames.flatMap((name) => {
      const file = program.getSourceFile(name);
      return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    });
    return found.map((error) => ts.formatDiagnostic(error, { ...host, getCurrentDirectory: () => folder }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const host = { getCanonicalFileName: (name: string) => name, getNewLine: () => '\n' };
