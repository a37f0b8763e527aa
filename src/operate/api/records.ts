/** The shapes of what the API's answers list. Times are in ISO 8601. */
import { z } from 'zod';
import { callStatuses } from '../calls.ts';
import { auditActions } from '../../store/audit-store.ts';

export const time = z.iso.datetime();
export const cursor = z
  .string()
  .optional()
  .describe('For the next page; left out on the last page, which may be empty.');
export const count = z.int().min(0);

export const run = z.strictObject({
  handler: z.string(),
  state: z.enum(['due', 'running', 'blocked', 'done', 'dead']),
  attempts: count,
  dueAt: time.optional().describe('When a waiting run is due; a time in 1970 means at once.'),
  settledAt: time.optional(),
  reason: z.string().optional().describe('Why the last attempt failed. It may hold personal data.'),
  replay: z.int().optional().describe('The replay that last requeued it.'),
});

export const failure = z.strictObject({
  attempt: count,
  at: time,
  duration: count.describe('In milliseconds.'),
  outcome: z.enum(['retry', 'dead']),
  cause: z.string().describe("The error's class or code."),
  location: z.string().optional().describe('Where it was thrown, in files of the app.'),
  reason: z.string().describe('It may hold personal data.'),
});

export const event = z.strictObject({
  traceId: z.string(),
  source: z
    .enum(['delivered', 'reconciled'])
    .describe(
      "`reconciled`: its delivery was lost, and it was rebuilt from the platform's record of its call.",
    ),
  eventName: z.string(),
  callId: z.string().optional(),
  organizationId: z.string().optional(),
  agentId: z.string().optional(),
  state: z.enum(['new', 'open', 'done']),
  occurredAt: time,
  receivedAt: time,
  duplicates: z
    .strictObject({ count, firstSeenAt: time, lastSeenAt: time })
    .optional()
    .describe(
      'How many duplicates arrived, and when the first and the last did. Left out if there were none, and for the first seconds.',
    ),
  runs: z.array(run).describe('The stored runs, in order of their handlers.'),
});

const onlyWithBodies = 'Only for whoever may see bodies.';

export const call = z.strictObject({
  callId: z.string(),
  organizationId: z.string().optional(),
  agentId: z.string().optional(),
  status: z.enum(callStatuses),
  startedAt: time.optional(),
  endedAt: time.optional(),
  durationMs: z.number().optional(),
  transfer: z
    .strictObject({
      destination: z.string().optional().describe('A phone number or an extension: personal data.'),
      status: z.string().optional(),
      reason: z.string().optional().describe(onlyWithBodies),
      sentiment: z.string().optional().describe(onlyWithBodies),
      at: time,
    })
    .optional(),
  analysis: z
    .strictObject({
      status: z.string().optional(),
      reason: z.string().optional().describe(onlyWithBodies),
      at: time,
    })
    .optional(),
  events: z.array(
    z.strictObject({ name: z.string(), occurredAt: time, receivedAt: time, traceId: z.string() }),
  ),
  firstSeenAt: time,
  lastSeenAt: time,
});

export const join = z.strictObject({
  handler: z.string().describe('The name of the join.'),
  events: z.array(z.string()).describe('The names of the events that it waits for.'),
  missing: z.array(z.string()).describe('Those of them that have not arrived.'),
  since: time.optional().describe('When the first of them arrived.'),
  until: time
    .optional()
    .describe("When it is called although events are missing. Left out if it doesn't wait for any."),
  called: z
    .strictObject({ complete: z.boolean(), missing: z.array(z.string()) })
    .optional()
    .describe('What its latest attempt was called with. Left out before the first attempt.'),
  runs: z
    .array(run.extend({ traceId: z.string() }))
    .describe('Its runs, the latest first: one more for an event that came late.'),
});

export const delivery = z.strictObject({
  id: z.int(),
  kind: z.enum(['not_authentic', 'unreadable']),
  reason: z.string(),
  receivedAt: time,
  traceId: z.string().optional().describe('As sent, not verified.'),
  bytes: count,
  digest: z.string().describe('The SHA-256 of the whole body, in hexadecimal.'),
  isCut: z.boolean().describe('Whether only the beginning of the body is kept.'),
});

export const pause = z.strictObject({
  since: time,
  by: z.string().optional(),
  reason: z.string().optional(),
});

export const handler = z.strictObject({
  name: z.string(),
  due: count,
  running: count,
  blocked: count,
  dead: count,
  isRegistered: z.boolean().describe('Whether a live process has registered it.'),
  settings: z
    .strictObject({
      patterns: z.array(z.string()),
      order: z.enum(['call', 'strict', 'none']),
      concurrency: count,
      timeout: count.describe('In milliseconds.'),
      rate: z.string().optional().describe('How often its attempts may begin, such as 10/s.'),
      join: z
        .strictObject({ events: z.array(z.string()), within: count.describe('In milliseconds.') })
        .optional(),
    })
    .optional()
    .describe('Only for handlers of the process that answers.'),
  pause: pause.optional(),
  here: z
    .strictObject({
      waiting: count.describe('Those that have not begun.'),
      active: count.describe('Those that are in the handler.'),
    })
    .optional()
    .describe(
      'The runs that the process that answers has claimed. Most are not stored, and so not among `due`.',
    ),
});

export const bulkState = z
  .enum(['running', 'done', 'stopped'])
  .describe('Whether it is in progress, has finished, or was stopped before it finished.');
export const entry = z.strictObject({
  id: z.int(),
  action: z.enum(auditActions),
  at: time,
  by: z.string().optional(),
  reason: z.string().optional(),
  what: z.string().describe('What it was done to: a filter as JSON, a name, a trace id, a delivery.'),
  events: count.describe('How many events or deliveries were changed.'),
  runs: count.describe('How many runs were changed.'),
  finishedAt: time.optional().describe('Left out while it is in progress, and if it failed.'),
  progress: z
    .strictObject({
      state: bulkState,
      share: z
        .number()
        .describe('From 0 to 1: how far it has come through the events, from the first that matched.'),
      handlers: z.record(z.string(), count).describe('How many runs of each handler were changed.'),
    })
    .optional()
    .describe('Only for replays and dismissals.'),
});
