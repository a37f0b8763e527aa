/** The shapes of the API's answers. */
import { z } from 'zod';
import { eventSignatureStatuses } from '../event-signature.ts';
import { signatureStatuses } from '../quarantine/signature-check.ts';
import { alertNames } from '../../receiver/alert-options.ts';
import { actions } from './access.ts';
import {
  time,
  cursor,
  count,
  run,
  failure,
  event,
  call,
  join,
  delivery,
  pause,
  handler,
  bulkState,
  entry,
} from './records.ts';

const content = {
  headers: z.record(z.string(), z.unknown()).optional().describe('Only if it was requested.'),
};
const changedRuns = { events: count, runs: count, handlers: z.record(z.string(), count) };
const resolutions = ['minute', 'hour'] as const;
const start = time.describe(
  'The start of the minute, hour or step. Those in which nothing happened are left out.',
);
const attempts = {
  done: count,
  retried: count,
  dead: count,
  handlerP50: count.optional().describe('In milliseconds.'),
  handlerP99: count.optional().describe('In milliseconds.'),
};

/** By their names in the OpenAPI document. */
export const results = {
  Access: z.strictObject({
    by: z.string().optional(),
    actions: z.array(z.enum(actions)),
    now: time.describe('The time at the receiver.'),
  }),
  Counts: z.strictObject({
    events: z.strictObject({ new: count, open: count, done: count }),
    claims: z.strictObject({
      events: count.describe('How many of the new events a process has claimed.'),
    }),
    runs: z.strictObject({ due: count, running: count, blocked: count, dead: count }),
    quarantine: z.strictObject({ notAuthentic: count, unreadable: count, dropped: count }),
  }),
  Events: z.strictObject({ events: z.array(event), cursor }),
  Event: event.extend({
    runs: z.array(run.extend({ failures: z.array(failure).describe('Failed attempts, the latest first.') })),
    ...content,
    body: z.record(z.string(), z.unknown()).optional().describe('The JSON. Only if it was requested.'),
    raw: z.base64().optional().describe('The bytes as they arrived. Only if the body was requested.'),
  }),
  EventSignature: z.strictObject({
    status: z.enum(eventSignatureStatuses),
    scheme: z.string().optional().describe('The scheme in which a current secret signed it.'),
    signedAt: time.optional().describe('The time that the signature covers. Left out if it covers none.'),
    message: z.string().describe('What is proved, in sentences.'),
  }),
  Calls: z.strictObject({ calls: z.array(call), cursor }),
  Call: call,
  Joins: z.strictObject({ joins: z.array(join) }),
  Failures: z.strictObject({
    groups: z.array(
      z.strictObject({
        id: z.string().describe('For the filter `failure` of events.'),
        handler: z.string(),
        cause: z.string().describe("The error's class or code."),
        location: z.string().optional(),
        message: z.string().describe('The reason without the parts that vary.'),
        dead: count.describe('Dead letters with this failure.'),
        retrying: count.describe('Runs with this failure that will be retried.'),
        firstSeenAt: time,
        lastSeenAt: time,
        traceId: z.string().optional().describe('Of the latest event with this failure.'),
        mutedAt: time.optional().describe('Since when it is muted. Left out if it is not muted.'),
        lastDay: z
          .array(count)
          .length(24)
          .describe('Failed attempts in each of the last 24 hours, the current hour last.'),
      }),
    ),
  }),
  Handlers: z.strictObject({
    handlers: z.array(handler),
    processes: z.array(
      z.strictObject({
        id: z.int(),
        host: z.string().optional().describe('The name of its machine.'),
        pid: z.int().optional().describe('Its number on that machine.'),
        startedAt: time.optional().describe('When it opened the inbox.'),
        heartbeatAt: time.optional().describe('When it last wrote that it lives. Only on Postgres.'),
        handlers: z.array(z.string()),
        isThis: z.boolean().describe('Whether it is the process that answers.'),
      }),
    ),
  }),
  Muted: z.strictObject({ changed: z.boolean().describe('Whether this changed anything.') }),
  Paused: pause,
  Resumed: z.strictObject({ resumed: z.boolean().describe('Whether it was paused.') }),
  Deliveries: z.strictObject({ deliveries: z.array(delivery), cursor }),
  Delivery: delivery.extend({
    ...content,
    body: z.base64().optional().describe('The bytes as they arrived. Only if they were requested.'),
  }),
  SignatureCheck: z.strictObject({
    status: z.enum(signatureStatuses),
    scheme: z.string().optional().describe('The scheme in which a current secret signed it.'),
    expected: z.string().optional().describe('The scheme that is set or pinned.'),
    message: z.string().describe('What was found and what to do, in sentences.'),
  }),
  Alerts: z.strictObject({
    alerts: z.array(
      z.strictObject({
        name: z.enum(alertNames),
        subject: z
          .string()
          .optional()
          .describe('The handler of `handler_failing`; the id of the group of `failures_alike`.'),
        since: time,
        message: z.string().describe('The current state, in a sentence.'),
      }),
    ),
  }),
  HandlerHistory: z.strictObject({
    resolution: z.enum(resolutions),
    points: z.array(z.strictObject({ at: start, ...attempts })),
  }),
  History: z.strictObject({
    resolution: z.enum(resolutions),
    points: z.array(
      z.strictObject({
        at: start,
        accepted: count,
        duplicate: count,
        quarantined: count,
        refused: z.record(z.string(), count).describe('By the refusal code.'),
        answerP50: count.optional().describe('In milliseconds.'),
        answerP99: count.optional().describe('In milliseconds.'),
        ...attempts,
        waiting: count.describe('The most events and due runs that waited.'),
        oldestWaiting: count.optional().describe('In milliseconds.'),
      }),
    ),
  }),
  Backlog: z.strictObject({
    waiting: count.describe(
      'Waiting events and due runs, in the inbox and in the process that answers. What other processes have claimed ' +
        'and not begun is not among them.',
    ),
    oldestWaiting: count.describe('In milliseconds; 0 if nothing waits.'),
  }),
  Audit: z.strictObject({ entries: z.array(entry), cursor }),
  Running: z.strictObject({ entries: z.array(entry) }),
  Drift: z.strictObject({
    findings: z.array(
      z.strictObject({
        eventName: z.string(),
        path: z.string(),
        kind: z.string(),
        firstSeenAt: time,
        lastSeenAt: time,
        count,
      }),
    ),
  }),
  BulkAction: z.strictObject({
    id: z.int().optional().describe('The id of its entry in the audit list. Left out for a dry run.'),
    state: bulkState.optional(),
    ...changedRuns,
  }),
  Stopped: z.strictObject({ stopped: z.boolean().describe('Whether it was in progress.') }),
  Released: z.strictObject({ status: z.enum(['accepted', 'duplicate']), traceId: z.string() }),
  Discarded: z.strictObject({ discarded: z.boolean() }),
  Reverified: z.strictObject({
    checked: count,
    released: count,
    duplicates: count,
    unreadable: count,
    cut: count,
    remaining: count,
  }),
  Erased: z.strictObject({
    events: count,
    runs: count,
    quarantined: count,
    calls: count,
    callIds: z.array(z.string()),
    checkpointed: z.boolean(),
    compacted: z.boolean(),
  }),
  Error: z.strictObject({
    error: z.strictObject({
      code: z.string().describe('For programs.'),
      message: z.string().describe('For a person: what was expected, what was found, what to do.'),
    }),
  }),
};

export type ResultName = keyof typeof results;
