import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RingbackError, configError } from '../../errors/errors.ts';
import { isObject } from '../../kit/values.ts';
import { locationOf } from '../../kit/error-location.ts';
import { messageOf } from '../../kit/error-text.ts';
import type { AppOptions } from '../../receiver/options.ts';
import type { Receiver } from '../../receiver/receiver.ts';
import { readAppOptions } from './app-options.ts';
import { isRingbackError } from '../failure.ts';

/** The option of a command that runs the handlers of an app file. */
export const handlersOption = [
  '--app <file>',
  'module whose default export registers the handlers (RINGBACK_APP)',
] as const;

type RegisterHandlers = (receiver: Receiver) => unknown;

export interface App {
  readonly options: AppOptions;
  /** @throws ConfigError `receiver_started` when it starts the receiver itself; the error of a refused registration */
  readonly register: (receiver: Receiver) => Promise<void>;
}

/** The codes of Node's errors for TypeScript, and for imports in it, that Node can't run natively. */
const needsTranslation = new Set([
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
]);

/** @throws ConfigError `app_unloadable`, `app_no_default`, or the error of a refused option */
export async function loadApp(file: string): Promise<App> {
  const module = await loadModule(file);
  const app = defaultOf(module, file);
  return {
    options: readAppOptions(exportOf(module, 'options'), file),
    register: (receiver) => register(receiver, app, file),
  };
}

async function register(receiver: Receiver, app: RegisterHandlers, file: string): Promise<void> {
  const allowStart = refuseStart(receiver, file);
  try {
    await app(receiver);
  } catch (error) {
    throw isRingbackError(error) ? withLocation(error) : unloadable(file, error);
  } finally {
    allowStart();
  }
}

/** Refuses a start() in the app file, which would make our own start() fail without a location in the user's files. */
function refuseStart(receiver: Receiver, file: string): () => void {
  receiver.start = () => {
    throw configError('receiver_started', { app: file });
  };
  return () => void Reflect.deleteProperty(receiver, 'start');
}

async function loadModule(file: string): Promise<unknown> {
  const path = resolve(file);
  if (!existsSync(path)) throw configError('app_unloadable', { file, cause: 'there is no such file' });
  provideOwnCopy();
  try {
    return await importNatively(path);
  } catch (error) {
    throw isRingbackError(error) ? withLocation(error) : unloadable(file, error);
  }
}

/** Imports natively if Node can, which is faster and exact; otherwise translates the file first. */
async function importNatively(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    if (!/\.[cm]?[jt]sx?$/.test(path) || !isForTranslation(error)) throw error;
    return await importTranslated(path, error);
  }
}

function isForTranslation(error: unknown): boolean {
  return error instanceof SyntaxError || needsTranslation.has(String((error as { code?: unknown }).code));
}

async function importTranslated(path: string, nativeError: unknown): Promise<unknown> {
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, { virtualModules: { ringback: await ownCopy() }, fsCache: false });
  try {
    return await jiti.import(path);
  } catch (error) {
    // If a module is missing both times, Node's error is clearer.
    throw isModuleMissing(nativeError) && isModuleMissing(error) ? nativeError : error;
  }
}

function isModuleMissing(error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String((error as { code?: unknown }).code));
}

function defaultOf(module: unknown, file: string): RegisterHandlers {
  const found = exportOf(module, 'default');
  if (typeof found === 'function') return found as RegisterHandlers;
  const what =
    found === undefined ? 'it has none' : `it is of type ${found === null ? 'null' : typeof found}`;
  throw configError('app_no_default', { file, found: what });
}

/** An export by its name, also of a module that a compiler turned into CommonJS. */
function exportOf(module: unknown, name: string): unknown {
  if (!isObject(module)) return undefined;
  const outer = module['default'];
  return isObject(outer) && 'default' in outer ? outer[name] : module[name];
}

function withLocation(error: RingbackError): RingbackError {
  const location = locationOf(error);
  if (location === undefined) return error;
  return new RingbackError(error.code, `${error.message} (${location})`, { cause: error });
}

/** The first line of the message, and the location. Translators append excerpts of the source. */
function unloadable(file: string, error: unknown): RingbackError {
  const lines = messageOf(error)
    .split('\n')
    .map((line) => line.trim());
  const cause = lines.find((line) => line !== '') ?? 'it failed without a message';
  const location = locationOf(error);
  const where = location === undefined ? '' : ` (${location})`;
  const problem = configError('app_unloadable', { file, cause: cause.replace(/\.$/, '') + where });
  // Its stack is printed at the log level debug.
  problem.cause = error;
  return problem;
}

/** Ringback's public entry beside this file: TypeScript in the sources, JavaScript once built. */
const ownEntry = new URL(`../../index${extname(import.meta.url)}`, import.meta.url).href;

let isInPlace = false;

/**
 * Makes `import … from 'ringback'` load the running Ringback, so that an app file works in any folder and never loads a
 * second copy. Node before 22.15 has no such hooks: there, the app's own copy is loaded.
 */
function provideOwnCopy(): void {
  if (isInPlace || typeof nodeModule.registerHooks !== 'function') return;
  isInPlace = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === 'ringback' ? { url: ownEntry, shortCircuit: true } : nextResolve(specifier, context),
  });
}

function ownCopy(): Promise<unknown> {
  return import(ownEntry);
}
