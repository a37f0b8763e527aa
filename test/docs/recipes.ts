/** The recipes of a document for a query builder, as modules that can be imported. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary.ts';
import { codeBlocks, root } from './documents.ts';

/** The path of a module with the document's one recipe for this package, in a project that has the packages installed. */
export function recipeFor(builder: string, document: string): string {
  const [code, ...others] = codeBlocks(document, 'ts').filter((block) => block.includes(`from '${builder}'`));
  if (code === undefined || others.length > 0) throw new Error(`There should be one recipe for ${builder}`);
  const folder = temporaryFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, 'handlers.ts');
  writeFileSync(path, code);
  return path;
}
