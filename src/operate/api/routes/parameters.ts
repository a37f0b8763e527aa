/** What the routes of the API have in common. */
import { z } from 'zod';
import { checked, listOptions } from '../../../errors/option-problems.ts';
import { accountSchema } from '../../audit.ts';
import { historyQuerySchema } from '../../history.ts';
import { eventFilterSchema } from '../../bulk/replay.ts';
import { ApiProblem } from '../problem.ts';

/** An option as text only: the operations take other forms as well. */
const asText = <T extends z.ZodType>(option: T, expected: string) =>
  z
    .string(expected)
    .min(1, expected)
    .transform((text): unknown => text)
    .pipe(checked(expected, (text) => option.safeParse(text).data))
    .optional();

const time = (meaning: string) =>
  asText(listOptions.since, 'a time in ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31').describe(
    meaning,
  );
const times = {
  since: time(
    'From this time on, in ISO 8601. Deliveries and events are selected by their arrival, calls by that of their first event.',
  ),
  until: time('Before this time, in ISO 8601.'),
};
/** The query parameters of each list besides its conditions. */
export const page = {
  ...times,
  limit: z
    .string()
    .transform((text) => (/^\d+$/.test(text) ? Number(text) : Number.NaN))
    .pipe(listOptions.limit.unwrap())
    .optional()
    .describe('The maximum number of items, by default 100.'),
  cursor: listOptions.cursor.describe('The `cursor` of the previous page.'),
};
export const filter = z.strictObject({ ...eventFilterSchema.shape, ...times });
export const change = {
  dryRun: z
    .boolean('true or false')
    .optional()
    .describe('A dry run: changes nothing, and returns what would change.'),
};
export const withBody = z.strictObject({
  body: z
    .enum(['true', 'false'], 'true or false')
    .transform((value) => value === 'true')
    .optional()
    .describe('Whether to return the body and the headers, too.'),
});

export const historyQuery = historyQuerySchema.extend({
  ...times,
  step: asText(historyQuerySchema.shape.step, "a duration such as '10m', above zero").describe(
    'Merges those of each step of this length, such as 10m. Steps are counted from `since`.',
  ),
});

/** Why something is done. `authorize` says who does it. */
export const whySchema = accountSchema.omit({ by: true });

/** The number in a path, in one spelling only, so that the audit list names each thing in one way. */
export function numberIn(id: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(id)) return Number(id);
  throw new ApiProblem(
    404,
    'not_found',
    `There is nothing with the id "${id}": an id should be a whole number.`,
  );
}
