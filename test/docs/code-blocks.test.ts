import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { codeBlocks, documents, root } from './documents.ts';

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

/** Checks the pieces as modules of a project that has Ringback's sources under its public names. */
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
          'ringback/testing': [join(root, 'src/testing/index.ts')],
          'ringback/platform': [join(root, 'src/platform/index.ts')],
          'ringback/sandbox': [join(root, 'src/sandbox/index.ts')],
        },
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: ['*.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    return compile(folder).filter((line) => pieces.some(({ name }) => line.startsWith(name)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compile(folder: string): string[] {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', '.', '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return [];
  } catch (error) {
    return String((error as { stdout: unknown }).stdout).split('\n');
  }
}
