/** The examples that mount the receiver in a framework, in a project that has the packed package and the frameworks. */
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { frameworkPackages } from '../package/framework-tests.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';

const root = join(import.meta.dirname, '../..');

/** Puts examples into a project. The one with decorators is compiled, and runs as JavaScript from `dist`. */
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
  compile(join(project.folder, 'nest'), join(project.folder, 'dist/nest'));
  return project;
}

/** As a project that `nest new` has made. Its types are checked with those of the package. */
function compile(folder: string, target: string): void {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  mkdirSync(target, { recursive: true });
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    const source = readFileSync(join(folder, file), 'utf8');
    const { outputText } = ts.transpileModule(source, { compilerOptions, fileName: file });
    writeFileSync(join(target, file.replace('.ts', '.js')), outputText);
  }
}
