import { configError } from '../errors.ts';
import { closest } from '../kit/closest-name.ts';

/**
 * Refuses what is no option of `verify` or `sign`. What the one calls `signature` the other calls `layout`: mixed up in
 * silence, deliveries would be held against other layouts than was meant.
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
