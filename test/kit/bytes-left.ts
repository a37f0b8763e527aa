import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A collection that `bytes-left-process.ts` fills and empties. */
export type Collection = 'Map' | 'SlotSet' | 'RenewedMap' | 'Set';

const script = fileURLToPath(new URL('./bytes-left-process.ts', import.meta.url));
/** The script alone decides when garbage is collected: a full collection of the engine's would hide what is left. */
const flags = [
  '--expose-gc',
  '--single-threaded-gc',
  '--no-incremental-marking',
  '--no-memory-reducer',
  '--initial-old-space-size=512',
];

/**
 * How many bytes outlive small garbage collections while tens of thousands of items come into these collections and go
 * again. Measured in a process of its own, where nothing else uses memory.
 */
export async function bytesLeftBy(...collections: readonly Collection[]): Promise<readonly number[]> {
  return (await printedBy(script, collections)) as number[];
}

/** What a script that measures bytes prints as JSON. */
export async function printedBy(file: string, parameters: readonly string[] = []): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file, ...parameters]);
  return JSON.parse(stdout) as unknown;
}
