import { configError } from '../../errors.ts';

/**
 * A part of a path, encoded. The format of ids is not ours to assume, but an empty one, or one that a URL takes for a step
 * up, would make another operation of this one: deleting `..` is not deleting a subscription.
 *
 * @throws ConfigError `option_invalid`
 */
export function pathPart(id: unknown, argument: string, operation: string): string {
  if (typeof id === 'string' && id !== '' && id !== '.' && id !== '..' && id.isWellFormed()) {
    return encodeURIComponent(id);
  }
  throw configError('option_invalid', {
    option: `${argument} in ${operation}`,
    expected: 'an id, as the platform gave it',
    found: typeof id === 'string' ? JSON.stringify(id) : id === null ? 'null' : `of type ${typeof id}`,
  });
}
