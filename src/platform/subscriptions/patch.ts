import { configError } from '../../errors.ts';
import { isObject } from '../../option-problems.ts';
import { type SubscriptionPatch, patchSchema, readFields } from './fields.ts';
import { updateOptionsSchema } from './writer.ts';

/**
 * Checks a patch. Fields that it doesn't name stay. A field that is `undefined` or null is refused: a patch can't clear
 * fields, and a variable that was not set must not clear the credentials of a receiver.
 *
 * @throws ConfigError
 */
export function readPatch(patch: SubscriptionPatch, operation: string): SubscriptionPatch {
  const fields: readonly (readonly [string, unknown])[] = isObject(patch) ? Object.entries(patch) : [];
  const cleared = fields.find(([, value]) => value === undefined || value === null);
  if (cleared !== undefined) {
    throw configError('option_invalid', {
      option: `${cleared[0]} in ${operation}`,
      expected: 'a value, since a patch changes what it names and clears nothing',
      found: String(cleared[1]),
      fix: 'Leave it out to keep it. To clear it, call subscriptions.replace(id, whole) without it.',
    });
  }
  const place = { operation, argument: 'patch' };
  const checked = readFields(patchSchema, patch, updateOptionsSchema, place) as SubscriptionPatch;
  if (fields.length > 0) return checked;
  throw configError('option_invalid', {
    option: `${operation}(patch)`,
    expected: 'an object with at least one field to change',
    found: 'empty',
  });
}
