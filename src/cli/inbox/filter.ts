import type { Command } from 'commander';
import { systemClock } from '../../kit/clock.ts';
import { parseDuration } from '../../kit/duration.ts';
import { parseInstant } from '../../kit/time.ts';
import type { EventFilter } from '../../operate/events.ts';
import { eventFilterSchema } from '../../operate/bulk/replay.ts';
import { argument, oneOf } from '../arguments.ts';

const states = eventFilterSchema.shape.state.unwrap().options;

/** Adds the options that select events: the conditions of `receiver.events`. */
export function takesFilter(command: Command): Command {
  const filtered = command
    .option('--state <state>', `its state: ${states.join(', ')}`, oneOf(states))
    .option('--handler <name>', 'has a stored run of this handler')
    .option('--failure <id>', 'has a run with this failure: the id of a group of failures')
    .option('--event-name <name>', 'its name')
    .option('--call-id <id>', 'its call')
    .option('--agent-id <id>', 'its agent')
    .option('--trace-id <id>', 'its trace id');
  return takesTimes(filtered);
}

export function filterOf(flags: EventFilter): EventFilter {
  const names = Object.keys(eventFilterSchema.shape) as (keyof EventFilter)[];
  return Object.fromEntries(names.map((name) => [name, flags[name]]));
}

const expectedTime =
  'a time with its zone, such as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00, a date, which begins at midnight UTC, ' +
  'or how long ago, such as 12h';

const dateForm = /^\d{4}-\d\d-\d\d$/;
/** A time needs its zone: one meant as local time would be read hours off. */
const zonedForm = /^\d{4}-\d\d-\d\d[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$/;

/** Adds the options that select by time. `what` says in the help what happened at that time. */
export function takesTimes(command: Command, what = 'arrived'): Command {
  const read = argument(expectedTime, readTime);
  return command
    .option(
      '--since <time>',
      `${what} at or after this: a time with its zone, a date (UTC), or an age such as 12h`,
      read,
    )
    .option('--until <time>', `${what} before this`, read);
}

function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ago = parseDuration(value);
  if (ago !== undefined) return Math.max(0, systemClock.now() - ago);
  if (dateForm.test(value)) return parseInstant(`${value}T00:00:00Z`)?.milliseconds;
  return zonedForm.test(value) ? parseInstant(value)?.milliseconds : undefined;
}
