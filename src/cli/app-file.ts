import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RingbackError, configError } from '../errors.ts';
import { messageOf } from '../kit/error-text.ts';
import { placeOf } from '../kit/error-location.ts';
import { isObject } from '../option-problems.ts';
import type { AppOptions } from '../options.ts';
import type { Receiver } from '../receiver.ts';
import { readAppOptions } from './app-options.ts';
import { isRingbackError } from './failure.ts';
import { ownCopy, provideOwnCopy } from './own-copy.ts';

type RegisterHandlers = (receiver: Receiver) => unknown;

/** An app file that was loaded. */
export interface App {
  /** What its receiver is to be made with. */
  readonly options: AppOptions;
  /**
   * Lets it register its handlers.
   *
   * @throws ConfigError `receiver_started` when it starts the receiver itself, or what its registrations are refused for
   */
  readonly register: (receiver: Receiver) => Promise<void>;
}

/** What Node says of TypeScript, or of the imports in it, that it can't run by itself. */
const needsTranslation = new Set([
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
]);

/**
 * Loads the app file, whose path counts from the working directory.
 *
 * @throws ConfigError `app_unloadable`, `app_no_default`, or what its options are refused for
 */
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
    throw isRingbackError(error) ? withPlace(error) : unloadable(file, error);
  } finally {
    allowStart();
  }
}

/** Refuses the app's own start() where it is called. Else ours would be refused, and that is in no file of the user's. */
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
    throw isRingbackError(error) ? withPlace(error) : unloadable(file, error);
  }
}

/** Node itself where it can, which is faster and exact; a translation where the file is more than it takes. */
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
    // What is missing for both, Node says better.
    throw isModuleMissing(nativeError) && isModuleMissing(error) ? nativeError : error;
  }
}

function isModuleMissing(error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String((error as { code?: unknown }).code));
}

/** The default export, a function. */
function defaultOf(module: unknown, file: string): RegisterHandlers {
  const found = exportOf(module, 'default');
  if (typeof found === 'function') return found as RegisterHandlers;
  const what =
    found === undefined ? 'it has none' : `it is of type ${found === null ? 'null' : typeof found}`;
  throw configError('app_no_default', { file, found: what });
}

/** An export by its name; what a compiler made of one for CommonJS counts as well. */
function exportOf(module: unknown, name: string): unknown {
  if (!isObject(module)) return undefined;
  const outer = module['default'];
  return isObject(outer) && 'default' in outer ? outer[name] : module[name];
}

/** The sentence of a problem, and where in the app file it was met. */
function withPlace(error: RingbackError): RingbackError {
  const place = placeOf(error);
  if (place === undefined) return error;
  return new RingbackError(error.code, `${error.message} (${place})`, { cause: error });
}

/** One line of what was thrown, and where: a translator's messages come with excerpts of the source. */
function unloadable(file: string, error: unknown): RingbackError {
  const lines = messageOf(error)
    .split('\n')
    .map((line) => line.trim());
  const cause = lines.find((line) => line !== '') ?? 'it failed without a message';
  const place = placeOf(error);
  const where = place === undefined ? '' : ` (${place})`;
  const problem = configError('app_unloadable', { file, cause: cause.replace(/\.$/, '') + where });
  // What the log level debug prints besides the sentence.
  problem.cause = error;
  return problem;
}
