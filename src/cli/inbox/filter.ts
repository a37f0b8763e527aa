import type { Command } from 'commander';
import type { EventFilter } from '../../inbox/events.ts';
import { replayFilterSchema } from '../../inbox/replay.ts';
import { parseTimestamp } from '../../kit/time.ts';
import { argument } from '../argument.ts';

const states = replayFilterSchema.shape.state.unwrap().options;
const time = 'a time in ISO 8601, such as 2026-01-31T12:00:00Z';

/** Adds the options that say which events: the conditions of `receiver.events`. */
export function takesFilter(command: Command): Command {
  return command
    .option('--state <state>', `how far it has come: ${states.join(', ')}`, argument(oneOfStates, readState))
    .option('--handler <name>', 'it has a stored run of this handler')
    .option('--event-name <name>', 'its name')
    .option('--call-id <id>', 'its call')
    .option('--trace-id <text>', 'its trace id, or a part of it')
    .option('--since <time>', 'arrived then or later', argument(time, readTime))
    .option('--until <time>', 'arrived before then', argument(time, readTime));
}

/** The conditions among the flags. */
export function filterOf({
  state,
  handler,
  eventName,
  callId,
  traceId,
  since,
  until,
}: EventFilter): EventFilter {
  return { state, handler, eventName, callId, traceId, since, until };
}

const oneOfStates = `one of ${states.join(', ')}`;

function readState(value: unknown): EventFilter['state'] {
  return states.find((state) => state === value);
}

function readTime(value: unknown): string | undefined {
  return typeof value === 'string' && parseTimestamp(value) !== undefined ? value : undefined;
}
