import type { Command } from 'commander';
import { parseTimestamp } from '../../kit/time.ts';
import { argument } from '../argument.ts';

const time = 'a time in ISO 8601, such as 2026-01-31T12:00:00Z';

/** Adds the options that say when something arrived. */
export function takesTimes(command: Command): Command {
  return command
    .option('--since <time>', 'arrived then or later', argument(time, readTime))
    .option('--until <time>', 'arrived before then', argument(time, readTime));
}

function readTime(value: unknown): string | undefined {
  return typeof value === 'string' && parseTimestamp(value) !== undefined ? value : undefined;
}
