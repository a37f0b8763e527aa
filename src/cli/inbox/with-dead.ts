import type { InboxEvent } from '../../operate/events.ts';

/** An event, and whether it has a dead letter: its state can be `done` all the same, when nothing is left to do. */
export function withDead<Event extends InboxEvent>(event: Event): Event & { readonly dead: boolean } {
  return { dead: event.runs.some(({ state }) => state === 'dead'), ...event };
}
