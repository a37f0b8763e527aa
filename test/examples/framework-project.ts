/** The examples that mount the receiver in a framework, in a project that has the packed package and the frameworks. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { frameworkPackages } from '../package/framework-tests.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';

const root = join(import.meta.dirname, '../..');

/** Puts examples into a project, and checks and compiles them all: those with decorators run as JavaScript, from `dist`. */
export async function projectOf(examples: readonly string[]): Promise<PackedProject> {
  const project = await packProject();
  // Each app brings its framework.
  addPackages(project, ...frameworkPackages, '@types/express');
  for (const name of examples)
    cpSync(join(root, 'examples', name), join(project.folder, name), { recursive: true });
  // The app of the example express, with the version before.
  cpSync(join(root, 'examples/express'), join(project.folder, 'express4'), { recursive: true });
  mkdirSync(join(project.folder, 'express4/node_modules'));
  symlinkSync(join(root, 'node_modules/express4'), join(project.folder, 'express4/node_modules/express'));
  compile(project.folder, examples);
  return project;
}

/** As a project that `nest new` has made. */
function compile(folder: string, include: readonly string[]): void {
  const compilerOptions = {
    target: 'ES2023',
    module: 'NodeNext',
    types: ['node'],
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    rewriteRelativeImportExtensions: true,
    rootDir: '.',
    outDir: 'dist',
    skipLibCheck: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
      stdio: 'pipe',
      encoding: 'utf8',
    });
  } catch (error) {
    const { stdout } = error as { stdout: string };
    throw new Error(`The examples don't compile:\n${stdout}`, { cause: error });
  }
}
