import { configError } from '../../errors.ts';

/**
 * A part of a path, encoded. Ids may have any format, except those that would change the path into that of another
 * operation: an empty id, `.` and `..`. Deleting `..` is not deleting a subscription.
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
