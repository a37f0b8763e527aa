/** Groups errors by their messages without the parts that vary. */
import { createHash } from 'node:crypto';

/** How many characters of a message are compared. */
const maxMessage = 200;

/** In this order: quoted text and addresses may contain the others. */
const variables: readonly RegExp[] = [
  /"[^"]*"|'[^']*'|`[^`]*`/g,
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
