import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { classOf, isError } from './error-text.ts';
import { isBundled, ownFile } from './files.ts';

/**
 * The folder of Ringback's own files, which are skipped: users look for the location in their code. In a bundle, both are
 * one file.
 */
const ownFolder = isBundled() ? undefined : fileURLToPath(ownFile('../', import.meta.url));

/**
 * Where in the user's own files an error was thrown, as `file:line:column`; undefined if its stack doesn't show that.
 * Paths below the working directory are relative to it.
 */
export function locationOf(error: unknown): string | undefined {
  return isError(error) ? firstLocationIn((error.stack ?? '').split('\n')) : undefined;
}

/**
 * The same for what a handler has thrown, for the log. It doesn't search the message, which may hold anything, even
 * text that looks like a location. Undefined if the message was changed after the stack was written: nobody knows where
 * the old one ends. Never throws, whatever it is given.
 */
export function locationThrownAt(error: unknown): string | undefined {
  try {
    if (!isError(error)) return undefined;
    const { stack = '', message } = error;
    const at = stack.indexOf(`${message}\n`);
    // Before its own message is only its name.
    const name = message === '' ? /^[^\n:]*$/ : /^[^\n:]*: $/;
    if (at === -1 || !name.test(stack.slice(0, at))) return undefined;
    const [, ...frames] = stack.slice(at + message.length).split('\n');
    const end = frames.findIndex((line) => !/^\s+at /.test(line));
    // Text after the frames may be another error's message, with anything in it.
    return firstLocationIn(end === -1 ? frames : frames.slice(0, end));
  } catch {
    return undefined;
  }
}

/** The class of what the app's code has thrown, and where if it is known: what may be logged of it. */
export function classAndLocationOf(error: unknown): string {
  const location = locationThrownAt(error);
  return location === undefined ? classOf(error) : `${classOf(error)} (${location})`;
}

function firstLocationIn(lines: readonly string[]): string | undefined {
  for (const line of lines) {
    const [, file, location] = /(?:^|[ (])((?:file:\/\/)?\/[^()]*?)((?::\d+){1,2})\)?$/.exec(line) ?? [];
    if (file === undefined || location === undefined) continue;
    const path = file.startsWith('file:') ? fileURLToPath(file) : file;
    if (isUsers(path)) return fromHere(path) + location;
  }
  return undefined;
}

function isUsers(path: string): boolean {
  return (ownFolder === undefined || !path.startsWith(ownFolder)) && !path.includes('/node_modules/');
}

function fromHere(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') ? path : here;
}
