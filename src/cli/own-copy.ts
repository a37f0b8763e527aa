import * as nodeModule from 'node:module';
import { extname } from 'node:path';

/** Ringback's public entry beside this file: TypeScript in the sources, JavaScript once built. */
const ownEntry = new URL(`../index${extname(import.meta.url)}`, import.meta.url).href;

let isInPlace = false;

/**
 * Makes `import … from 'ringback'` load the Ringback that runs the command, so that an app file works in any folder,
 * and never loads a second copy. Node before 22.15 has no hooks for that: there, the app's own copy is loaded.
 */
export function provideOwnCopy(): void {
  if (isInPlace || typeof nodeModule.registerHooks !== 'function') return;
  isInPlace = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === 'ringback' ? { url: ownEntry, shortCircuit: true } : nextResolve(specifier, context),
  });
}

/** The public names of the Ringback that runs the command. */
export function ownCopy(): Promise<unknown> {
  return import(ownEntry);
}
