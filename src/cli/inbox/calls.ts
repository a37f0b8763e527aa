import type { Command } from 'commander';
import type { CallRecord } from '../../calls/timeline.ts';
import { ringbackError } from '../../errors/errors.ts';
import { type CallQuery, callStatuses } from '../../operate/calls.ts';
import { databaseName } from '../../receiver/database.ts';
import { oneOf } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { takesTimes } from './filter.ts';
import { withReceiver } from './existing-inbox.ts';
import { printPages, printWhole, takesLimit } from './print.ts';
import type { Column } from './table.ts';

interface CallsFlags extends Omit<CallQuery, 'cursor'>, DatabaseFlag {}

const columns: readonly Column<CallRecord>[] = [
  ['first seen', ({ events }) => events[0]?.receivedAt],
  ['call', ({ callId }) => callId],
  ['status', ({ status }) => status],
  ['seconds', ({ durationMs }) => durationMs && Math.round(durationMs / 1_000)],
  ['events', ({ events }) => events.length],
  ['transfer', ({ transfer }) => transfer?.status],
  ['agent', ({ agentId }) => agentId],
];

export function addCalls(inbox: Command): void {
  const calls = inbox
    .command('calls')
    .option('--status <status>', `the status of the call: ${callStatuses.join(', ')}`, oneOf(callStatuses))
    .option('--agent-id <id>', 'the id of its agent');
  takesLimit(takesTimes(calls, 'its first event arrived'))
    .option(...databaseOption)
    .description(
      'print the records of calls, made from their events, latest first (in a pipe, as lines of JSON)',
    )
    .action(async ({ limit: max, ...flags }: CallsFlags) => {
      const { database: _, ...conditions } = flags;
      const list = { nothing: 'no call matches', columns };
      await withReceiver(flags, ({ calls: records }) =>
        printPages((page) => records.list({ ...conditions, ...page }), 'calls', max, list),
      );
    });
}

export function addCall(inbox: Command): void {
  inbox
    .command('call')
    .option(...databaseOption)
    .description('print one call as JSON: its record, its events, and what joins wait for in it')
    .argument('<call-id>', 'its id')
    .action(async (callId: string, flags: DatabaseFlag) => {
      const call = await withReceiver(flags, async ({ calls }, database) => {
        const found = await calls.get(callId);
        if (found) return { ...found, joins: await calls.joins(callId) };
        throw ringbackError('call_unknown', { callId, database: databaseName(database) });
      });
      printWhole(call);
    });
}
