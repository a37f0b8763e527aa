/**
 * Writes what `require('ringback')` and `require('ringback/…')` find: for each entry point a `.cjs` file that requires
 * the ES module, so that there is one copy of the running code, and a `.d.cts` file for TypeScript.
 *
 * Without them, `module: node16` refuses to import the package in a CommonJS file (TS1479), and resolvers that don't
 * support `require` of an ES module fail. The types aren't copied either: classes of two copies would differ, and a
 * receiver made in an ES module could not be passed to a CommonJS file.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import ts from 'typescript';

/** An entry point that can be required: the files for it, and the ES module's files. All are relative to the package. */
interface Entry {
  readonly types: string;
  readonly default: string;
  readonly require: { readonly types: string; readonly default: string };
}

/** Writes the files below `root` that the `exports` in its package.json name for `require`. */
export function writeRequireEntries(root: string): void {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, Entry | string>;
  };
  const entries = Object.values(exports).filter((entry) => typeof entry !== 'string');
  const entryFiles = entries.map(({ types }) => join(root, types));
  const program = ts.createProgram(entryFiles, options, ownDeclarations());
  for (const entry of entries) {
    const { require: files } = entry;
    mkdirSync(dirname(join(root, files.default)), { recursive: true });
    const from = (target: string) => relative(dirname(files.default), target);
    writeFileSync(join(root, files.default), code(from(entry.default)));
    writeFileSync(
      join(root, files.types),
      declarations(program, join(root, entry.types), from(entry.default)),
    );
  }
}

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noLib: true,
  types: [],
};

/** Reads only our own declarations: those of other packages are most of the text, and don't matter to our exports. */
function ownDeclarations(): ts.CompilerHost {
  return {
    ...ts.createCompilerHost(options),
    resolveModuleNameLiterals: (names, importing) =>
      names.map(({ text }) => {
        if (!text.startsWith('.')) return { resolvedModule: undefined };
        const resolvedFileName = join(dirname(importing), text.replace(/\.[jt]s$/, '.d.ts'));
        return { resolvedModule: { resolvedFileName, extension: ts.Extension.Dts } };
      }),
  };
}

/** What requires the ES module. */
function code(module: string): string {
  return `'use strict';
try {
  module.exports = require('${module}');
} catch (error) {
  const hidden = hiddenModule();
  if (hidden === undefined) throw error;
  module.exports = hidden.createRequire(__filename)('${module}');
}

/** Jest replaces Node's require with one that doesn't take ES modules, or only with a flag. Node's own does. */
function hiddenModule() {
  try {
    const own = require('vm').runInThisContext('process').getBuiltinModule('module');
    return require('module') === own ? undefined : own;
  } catch {
    // A bundle may have neither.
    return undefined;
  }
}
`;
}

/** Every type as the ES module has it; a value, which can't be exported again from a CommonJS file, by its type. */
function declarations(program: ts.Program, file: string, module: string): string {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const symbol = source && checker.getSymbolAtLocation(source);
  if (!symbol) throw new Error(`There are no declarations in ${file}`);
  const names = checker.getExportsOfModule(symbol).map((exported) => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    return {
      name: exported.name,
      target: isAlias ? checker.getAliasedSymbol(exported) : exported,
      // A class of which only the type is public.
      isTypeOnly: exported.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) === true,
    };
  });
  const known = new Set(names.map(({ name }) => name));
  const values = names.filter(
    ({ target, isTypeOnly }) => !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0,
  );
  return [
    `import type * as esm from '${module}' with { 'resolution-mode': 'import' };`,
    `export type * from '${module}' with { 'resolution-mode': 'import' };`,
    ...values.flatMap(({ name, target }) => [
      ...documentation(target),
      `export declare const ${name}: typeof esm.${name};`,
      ...((target.flags & ts.SymbolFlags.Type) === 0 ? [] : [ownType(name, target, known)]),
    ]),
    '',
  ].join('\n');
}

/** The comment before the declaration, which editors show. */
function documentation({ declarations: [declaration] = [] }: ts.Symbol): string[] {
  const parent =
    declaration && ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const comments = parent ? ts.getJSDocCommentsAndTags(parent).filter(ts.isJSDoc) : [];
  return comments.map((comment) => comment.getText());
}

/** A class is a type as well, which the constant of its name would hide. */
function ownType(name: string, { declarations: all = [] }: ts.Symbol, known: ReadonlySet<string>): string {
  const [parameters = []] = all.filter(ts.isClassDeclaration).map(({ typeParameters }) => typeParameters);
  const written = parameters.map((parameter) => {
    const fallback = parameter.default?.getText();
    // Needs to support only names that the entry point exports.
    if (parameter.constraint || (fallback !== undefined && !known.has(fallback))) {
      throw new Error(
        `${basename(import.meta.filename)} can't write the parameter ${parameter.getText()} of ${name}`,
      );
    }
    return parameter.name.text + (fallback === undefined ? '' : ` = esm.${fallback}`);
  });
  const given = parameters.map((parameter) => parameter.name.text);
  const angled = (texts: readonly string[]) => (texts.length === 0 ? '' : `<${texts.join(', ')}>`);
  return `export type ${name}${angled(written)} = esm.${name}${angled(given)};`;
}
