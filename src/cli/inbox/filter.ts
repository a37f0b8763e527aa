import type { Command } from 'commander';
import type { EventFilter } from '../../operate/events.ts';
import { replayFilterSchema } from '../../operate/replay.ts';
import { argument } from '../argument.ts';
import { takesTimes } from './times.ts';

const states = replayFilterSchema.shape.state.unwrap().options;

/** Adds the options that select events: the conditions of `receiver.events`. */
export function takesFilter(command: Command): Command {
  const filtered = command
    .option('--state <state>', `how far it has come: ${states.join(', ')}`, argument(oneOfStates, readState))
    .option('--handler <name>', 'it has a stored run of this handler')
    .option('--event-name <name>', 'its name')
    .option('--call-id <id>', 'its call')
    .option('--agent-id <id>', 'its agent')
    .option('--trace-id <text>', 'its trace id, or a part of it');
  return takesTimes(filtered);
}

/** The conditions among the flags. */
export function filterOf({
  state,
  handler,
  eventName,
  callId,
  agentId,
  traceId,
  since,
  until,
}: EventFilter): EventFilter {
  return { state, handler, eventName, callId, agentId, traceId, since, until };
}

const oneOfStates = `one of ${states.join(', ')}`;

function readState(value: unknown): EventFilter['state'] {
  return states.find((state) => state === value);
}
