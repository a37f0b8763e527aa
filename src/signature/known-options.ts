import { configError } from '../errors/errors.ts';
import { closest } from '../errors/closest-name.ts';

/**
 * Refuses unknown options of `verify` and `sign`. `verify` calls the scheme `signature`, and `sign` calls it `scheme`:
 * if the wrong name were ignored, the default would be used instead of the scheme that the user meant.
 *
 * @throws ConfigError `option_unknown`, or `option_invalid` when there are no options at all
 */
export function requireKnown(options: unknown, known: readonly string[], where: 'verify' | 'sign'): void {
  if (typeof options !== 'object' || options === null) {
    throw configError('option_invalid', {
      option: `${where}(options)`,
      expected: `an object with ${known.join(', ')}`,
      found: options === null ? 'null' : `of type ${typeof options}`,
    });
  }
  const option = Object.keys(options).find((name) => !known.includes(name));
  if (option === undefined) return;
  throw configError('option_unknown', {
    option,
    where,
    meant: closest(option, known),
    known: known.join(', '),
  });
}
