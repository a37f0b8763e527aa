import { z } from 'zod';
import { configError } from '../../errors/errors.ts';
import { checked, parseStrictly } from '../../errors/option-problems.ts';
import { isStorable } from '../../kit/values.ts';
import { type Account, accountSchema } from '../audit.ts';
import { IdMentions } from './id-mentions.ts';
import { mentionsOfPhoneNumber } from './person-mentions.ts';

/** What to erase: a call, or everything that names a phone number. */
export type ErasureTarget = ({ readonly callId: string } | { readonly phoneNumber: string }) &
  Account & {
    /**
     * Whether to rewrite the database. Only that removes old copies from unused parts of its pages, but deliveries wait
     * meanwhile. @default true for a database of up to 128 MB
     */
    readonly compact?: boolean | undefined;
    /** Erases nothing, and returns what would be erased. @default false */
    readonly dryRun?: boolean | undefined;
  };

const targetSchema = z.strictObject({
  // Another id than one that is stored would be looked for as such a one.
  callId: z
    .string('the id of a call')
    .min(1, 'the id of a call')
    .refine(isStorable, 'the id of a call')
    .optional(),
  phoneNumber: checked('a phone number of at least 7 digits, as text', (value) =>
    typeof value === 'string' ? mentionsOfPhoneNumber(value) : undefined,
  ).optional(),
  compact: z.boolean('true or false').optional(),
  dryRun: z.boolean('true or false').default(false),
  ...accountSchema.shape,
});

/**
 * Checks the target. `mentions` finds texts that mention the call or the phone number.
 *
 * Further arguments are refused: other methods take `dryRun` in a second one, and ignoring it here would erase what
 * should only be counted.
 *
 * @throws ConfigError unless the target is either a call or a phone number
 */
export function readTarget(target: ErasureTarget, others: readonly unknown[]) {
  if (others.length > 0) {
    throw configError('option_invalid', {
      option: 'erase(target)',
      expected: 'a single object, with dryRun or compact in it',
      found: 'followed by another argument',
    });
  }
  const { callId, phoneNumber, compact, dryRun, by, reason } = parseStrictly(
    targetSchema,
    target,
    'erase',
    'target',
  );
  if ((callId === undefined) === (phoneNumber === undefined)) {
    throw configError('option_invalid', {
      option: 'erase(target)',
      expected: 'an object with either callId or phoneNumber',
      found: callId === undefined ? 'one with neither' : 'one with both',
    });
  }
  return {
    callId,
    mentions: phoneNumber ?? new IdMentions([callId ?? '']).isIn,
    compact,
    dryRun,
    account: { by, reason },
  };
}
