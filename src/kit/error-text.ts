/** Texts about thrown values of any kind, without stacks, and by which of them errors are grouped. */
import { createHash } from 'node:crypto';
// Not by names: an older Node lacks one of them, and would fail here instead of saying which Node is needed.
import * as util from 'node:util';

/** The message. Never throws, whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return String(isError(thrown) ? thrown.message : thrown);
  } catch {
    return 'a value that cannot be described';
  }
}

/** The most errors that a reason includes, and the most items of a list or fields of an object. */
const maxParts = 20;
/** The most characters of one text within a reason. */
const maxText = 500;

/**
 * The message with those of the chain of causes and of the errors of an `AggregateError`. A thrown value that is not an
 * error is written as JSON. May contain anything, so it is not for the log. Never throws.
 */
export function reasonOf(thrown: unknown): string {
  return reasonWithin(thrown, new Set());
}

/** `reported` has what is in the reason already: an error may be its own cause, or that of several others. */
function reasonWithin(thrown: unknown, reported: Set<unknown>): string {
  reported.add(thrown);
  const text = textOf(thrown).slice(0, maxText);
  const reasons: string[] = [];
  for (const other of errorsBehind(thrown)) {
    if (reported.size >= maxParts || reported.has(other)) continue;
    const reason = reasonWithin(other, reported);
    // Many messages end with their cause's.
    if (reason !== text && !text.endsWith(`: ${reason}`)) reasons.push(reason);
  }
  const behind = reasons.join('; ');
  if (text === '') return behind === '' ? namelessReason(thrown) : behind;
  return behind === '' ? text : `${text}: ${behind}`;
}

/** The errors of an `AggregateError`, and the cause. */
function errorsBehind(thrown: unknown): readonly unknown[] {
  try {
    if (!isError(thrown)) return [];
    const { errors, cause } = thrown as { readonly errors?: unknown; readonly cause?: unknown };
    // Copied within this try: a subclass of Array may throw when it is iterated.
    const several: readonly unknown[] = Array.isArray(errors) ? Array.from(errors.slice(0, maxParts)) : [];
    return cause === undefined ? several : [...several, cause];
  } catch {
    return [];
  }
}

/** For an error without a message: its code, as system errors have, or its class. */
function namelessReason(thrown: unknown): string {
  try {
    const { code } = thrown as { readonly code?: unknown };
    return typeof code === 'string' && code !== '' ? code : classOf(thrown);
  } catch {
    return 'an error without a message';
  }
}

/** The message, or for a value that is not an error the most informative text about it. */
function textOf(thrown: unknown): string {
  try {
    return typeof thrown === 'object' && thrown !== null && !isError(thrown)
      ? textOfObject(thrown)
      : messageOf(thrown);
  } catch {
    return messageOf(thrown);
  }
}

function textOfObject(thrown: object): string {
  const json = shortJson(thrown);
  // For objects without own fields, such as a `Response`, `String` gives at least the class.
  return json === undefined || json === '{}' ? messageOf(thrown) : json;
}

/** JSON of bounded size, with each object at most once. */
function shortJson(thrown: object): string | undefined {
  const written = new Set<unknown>();
  const shorten = (_key: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'string') return value.slice(0, maxText);
    if (typeof value !== 'object' || value === null) return value;
    if (isError(value)) return messageOf(value);
    if (written.size >= maxParts || written.has(value) || ArrayBuffer.isView(value)) return '…';
    written.add(value);
    if (Array.isArray(value)) return value.slice(0, maxParts);
    return Object.fromEntries(Object.entries(value).slice(0, maxParts));
  };
  return JSON.stringify(thrown, shorten);
}

/** Whether a value is an error, also one from another realm, such as a test runner's. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || util.types.isNativeError(value);
}

export function causeIn(error: unknown): unknown {
  return isError(error) ? error.cause : undefined;
}

/**
 * Why `fetch` failed: its error says only that it did, and the error's cause says why. If several addresses failed, the
 * cause has a code and no message.
 */
export function fetchCauseOf(error: unknown): string {
  if (metPlainHttp(error)) return 'the server there uses http, not https';
  const cause = causeIn(error);
  if (cause === undefined) return messageOf(error);
  const { code } = cause as { readonly code?: string };
  const message = messageOf(cause);
  if (message === 'bad port') return 'fetch never connects to this port, which belongs to another protocol';
  return message === '' ? (code ?? 'no connection') : message;
}

/**
 * Whether `fetch` failed because it used https and the server speaks http. The message of that error is a line of
 * OpenSSL's own log, which nobody would understand.
 */
export function metPlainHttp(error: unknown): boolean {
  return codeOf(causeIn(error)) === 'ERR_SSL_WRONG_VERSION_NUMBER';
}

/**
 * The name of an error's class, never its message, which may contain anything, such as what a caller has said. So may a
 * name that isn't one word: then this returns `Error`.
 */
export function classOf(thrown: unknown): string {
  if (!isError(thrown)) return typeof thrown;
  // The Postgres driver names its `DatabaseError` `error`, after the protocol's message.
  const { name: own, constructor } = thrown as {
    readonly name: unknown;
    readonly constructor?: { name?: unknown };
  };
  const name = own === 'error' ? constructor?.name : own;
  return typeof name === 'string' && /^[A-Za-z]\w{0,63}$/.test(name) ? name : 'Error';
}

/** Why a file could not be read, without its path, which the message already has. */
export function readCauseOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'this process may not read it';
  const { errno } = error as NodeJS.ErrnoException;
  return errno === undefined ? messageOf(error) : util.getSystemErrorMessage(errno);
}

/** The code of an error, such as `ENOENT`, or an empty text. */
export function codeOf(thrown: unknown): string {
  return isError(thrown) && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}

/** How many characters of a message are compared. */
const maxMessage = 200;

/** In this order: quoted text and addresses may contain the others. */
const variables: readonly RegExp[] = [
  // A long reason is cut, and then the quoted text at its end has no second mark. After a letter, a mark is an apostrophe.
  /"[^"]*(?:"|$)|(?<![\p{L}\p{N}])'[^']*(?:'|$)|`[^`]*(?:`|$)/gu,
  /\b[a-z][a-z\d+.-]*:\/\/\S+/gi,
  /[^\s@<>(),;]+@[^\s@<>(),;]+/g,
  /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi,
  // Ids, hashes, names of hosts: words with a digit in them.
  /\+?\b[\w-]*\d[\w-]*(?:[.:][\w-]*\d[\w-]*)*/g,
];

/**
 * A message without the parts that vary: quoted text, addresses, ids and numbers. Errors are grouped by it, and it
 * reveals little about a person.
 *
 * @example withoutVariables('no customer +4930123456 in "crm"') // 'no customer … in …'
 */
export function withoutVariables(message: string): string {
  const general = variables.reduce((text, variable) => text.replace(variable, '…'), message);
  return general.replace(/\s+/g, ' ').trim().slice(0, maxMessage);
}

/** A short id of these parts: the same for the same parts, in every process and version. */
export function fingerprintOf(...parts: readonly (string | undefined)[]): string {
  return createHash('sha256')
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest('hex')
    .slice(0, 16);
}
