/** The compiler of TypeScript, as an app that has the packed package would run it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { PackedProject } from './packed-project.ts';

/** The options of TypeScript that say how modules are written and found. */
export interface Modules {
  readonly module: string;
  readonly moduleResolution: string;
  /** Whether the app's own declarations are made, too, as for a library. */
  readonly declaration?: boolean;
  /** What the examples need beside that. */
  readonly rewriteRelativeImportExtensions?: boolean;
  readonly experimentalDecorators?: boolean;
  readonly emitDecoratorMetadata?: boolean;
}

/**
 * Type-checks files of projects with our own declarations, which must be correct as well. Those of other libraries are only
 * read: to check them, too, would take most of the time, and what is wrong in them isn't ours.
 */
export class TypeChecker {
  /** The declarations of packages, which all programs share, by what decides how they are read. */
  readonly #packages = new Map<string, ts.SourceFile | undefined>();

  /** Writes the files, and returns the errors as the compiler's command prints them, a line each. */
  errors(
    { folder }: PackedProject,
    files: Readonly<Record<string, string>>,
    modules: Modules = { module: 'nodenext', moduleResolution: 'nodenext' },
  ): string[] {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { options, errors } = ts.convertCompilerOptionsFromJson(
      {
        target: 'es2024',
        lib: ['es2024'],
        // TypeScript 6 has deprecated node10, and apps that are compiled with an older one have it.
        ...(modules.moduleResolution === 'node10' && { ignoreDeprecations: '6.0' }),
        types: ['node'],
        strict: true,
        noEmit: true,
        ...modules,
      },
      folder,
    );
    const rootNames = Object.keys(files).map((name) => join(folder, name));
    const host = this.#host(options, folder);
    const program = ts.createProgram({ rootNames, options, host });
    const found = [
      ...errors,
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...program
        .getSourceFiles()
        .filter(({ fileName }) => fileName.startsWith(folder))
        .flatMap((file) => [
          ...program.getSyntacticDiagnostics(file),
          ...program.getSemanticDiagnostics(file),
          ...(options.declaration === true ? program.getDeclarationDiagnostics(file) : []),
        ]),
    ];
    return found.map((error) => ts.formatDiagnostic(error, host).trim());
  }

  #host(options: ts.CompilerOptions, folder: string): ts.CompilerHost {
    const host = ts.createCompilerHost(options);
    const read = host.getSourceFile.bind(host);
    return {
      ...host,
      getCurrentDirectory: () => folder,
      getSourceFile: (name, how, ...rest) => {
        if (!name.includes('/node_modules/')) return read(name, how, ...rest);
        const format = typeof how === 'object' ? how.impliedNodeFormat : undefined;
        const key = `${format} ${name}`;
        if (!this.#packages.has(key)) this.#packages.set(key, read(name, how, ...rest));
        return this.#packages.get(key);
      },
    };
  }
}
