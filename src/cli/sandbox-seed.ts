import { readFileSync } from 'node:fs';
import { ringbackError } from '../errors/errors.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Seed } from '../sandbox/seed.ts';

/**
 * Reads a seed file. The sandbox checks the seed itself.
 *
 * @throws RingbackError `seed_unreadable`
 */
export function readSeedFile(file: string): Seed {
  return parsed(textOf(file), file);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw ringbackError('seed_unreadable', { file, cause: messageOf(error) });
  }
}

/** Doesn't pass on the parser's message, which quotes the text and could show a key. */
function parsed(text: string, file: string): Seed {
  try {
    return JSON.parse(text) as Seed;
  } catch {
    throw ringbackError('seed_unreadable', { file, cause: 'it is no JSON' });
  }
}
