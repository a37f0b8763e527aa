/** Writes `docs/events.md`: what the payload of each known event has, from the schemas that read it. */
import { z } from 'zod';
import { type KnownEventName, knownEventNames } from '../src/events/names.ts';
import { payloadSchemas } from '../src/events/schemas.ts';

/** When each event comes, remarks on it, and the fixtures that show it. */
const occasions: Readonly<Record<KnownEventName, { readonly when: string; readonly notes: string }>> = {
  'CallHandler.CallStarted': { when: 'a call begins', notes: 'Fixture: `call-started`.' },
  'CallHandler.CallEnded': { when: 'a call completes', notes: 'Fixture: `call-ended`.' },
  'CallHandler.CallTransferred': {
    when: 'the agent transfers a call to a person or another number',
    notes:
      'The payload is the same whether it was sent flat or wrapped. Fixtures: `call-transferred-flat`,\n' +
      '`call-transferred-wrapped`.',
  },
  'callAnalysis.pcaCompleted': {
    when: 'the post-call analysis is ready, usually 1 to 30 seconds after the call',
    notes:
      'The analysis itself is not in the event: fetch it with [`analyses.get`](platform.md#operations). Fixture:\n' +
      '`pca-completed`.',
  },
};

const introduction = `# Events

\`npm run schemas\` generates this page from the schemas that Ringback reads events with; don't edit it. The package also
has [JSON Schemas](#json-schemas) generated from them.

## Names

| name | known event |
|---|---|
${knownEventNames.map((name) => `| \`${name}\` | ${occasions[name].when} |`).join('\n')}

## Fields of an event

| field | what it is |
|---|---|
| \`traceId\` | identity of the event: the trace id in the body, else in the header, else \`sha256:\` and the body's digest. Ids and event names have at most 512 characters; a longer one counts as missing |
| \`source\` | \`delivered\`, or \`reconciled\` if it was [rebuilt](reconcile.md) because its delivery was lost |
| \`traceIdSource\` | where the trace id was found: \`body\`, \`header\` or \`digest\` |
| \`eventName\` | the event's name; \`unknown\` if neither body nor header has one, unless the fields are those of a transfer |
| \`callId\` | identity of the call, or undefined; don't rely on its format |
| \`organizationId\` | the organization, or undefined |
| \`payload\` | the payload, typed by the event's name; the same shape whether it was sent flat or wrapped |
| \`body\` | the JSON exactly as it was sent |
| \`occurredAt\`, \`occurredAtNs\` | when it happened: a Date, and nanoseconds as a bigint. A flat transfer has no time in its body: the header's is used, which may be the time of the delivery |
| \`occurredAtSource\` | where that time was found: \`body\`, \`header\` or \`arrival\`; 0 and unreadable times are ignored |
| \`timestamp\` | the timestamp as it was sent |
| \`issues\` | the required fields that are missing or invalid: an event with issues goes to the [fallback](handlers.md#the-fallback) |

## Payloads

\`\`\`ts
import { createReceiver } from 'ringback';

const receiver = createReceiver({ secrets: process.env.WEBHOOK_SECRET });
receiver.on('CallHandler.CallTransferred', async ({ payload }, ctx) => {
  ctx.log.info({ reason: payload.call_summary?.transfer_reason, turns: payload.transcript?.length }, 'transferred');
});
\`\`\`

- The types are those that a handler sees. A field may be **missing**, and is then \`undefined\`, unless it is marked as
  required: an event without it goes to the fallback. A \`null\` counts as missing.
- The items of a list with more than 1,000 items, or with more than 10,000 fields in all, are as they were sent: only
  the first 1,000 are checked, and a \`null\` in them stays \`null\`.
- Ids are strings, even if they were sent as numbers. \`call_id\` is also read from \`callId\` or \`_id\`, and \`agent_id\` from
  \`ai_agent_id\`.
- "Known" values are those seen or documented so far; others may come.
- The platform may add fields: they are on the payload too, without a type, and in \`event.body\` as they were sent.

## JSON Schemas

\`ringback/schemas/\` has a JSON Schema (2020-12) for the body of each event: \`call-started.schema.json\`,
\`call-ended.schema.json\`, \`call-transferred.schema.json\`, \`pca-completed.schema.json\`. A body of an event is valid
exactly when a handler for that event gets it; otherwise it goes to the fallback.

- **The name may be in the header alone.** So a body without \`eventName\` is valid against the schema of every event
  whose fields it has. Choose the schema by the body's \`eventName\`, else by the header \`X-Webhook-Event\`. If neither
  has a name, only a transfer is recognized, by its fields.
- **The payload may be flat**, at the top level, if \`payload\` is missing or null.
  \`call-transferred-wrapped.schema.json\` accepts only transfers in the envelope.
- **An id may be under any of its names.** The value under one name doesn't matter if there is an id under another.
- **Other fields of the envelope don't matter.** A \`traceId\`, \`organizationId\` or \`timestamp\` of another type counts as
  missing, and as [drift](drift.md). \`envelope.schema.json\` has the documented types.

Some rules can't be expressed in JSON Schema: only the first 1,000 items of a list are checked, integers beyond 2^53
become strings, and the 512 characters of an id or name are UTF-16 code units, without U+0000 and lone surrogates.
`;

/** The text of the document. */
export function eventsDocument(): string {
  return [introduction, ...knownEventNames.map(sectionOf)].join('\n');
}

function sectionOf(name: KnownEventName): string {
  const rows = rowsOf(insideOf(payloadSchemas[name]), '').map((cells) => `| ${cells.join(' | ')} |`);
  const table = ['| field of the payload | type | meaning |', '|---|---|---|', ...rows];
  return `${[`## ${name}`, '', occasions[name].notes, '', ...table].join('\n')}\n`;
}

/** What handlers see of a value: its type, the known values, and an object's fields with the way to them. */
interface Inside {
  readonly type: string;
  readonly values?: readonly unknown[];
  readonly way?: string;
  readonly fields?: Readonly<z.core.$ZodLooseShape>;
}

/** The rows of an object's fields, each followed by the fields within it. */
function rowsOf({ fields = {} }: Inside, path: string): string[][] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const inside = insideOf(field);
    const row = [`\`${path}${name}\``, typeOf(field, inside), meaningOf(field, inside)];
    return [row, ...rowsOf(inside, `${path}${name}${inside.way}`)];
  });
}

function typeOf(field: z.core.$ZodType, { type }: Inside): string {
  return defOf(field).type === 'optional' ? type : `${type}, required`;
}

function meaningOf(field: z.core.$ZodType, { values = [] }: Inside): string {
  const { description } = z.globalRegistry.get(field) ?? {};
  if (description === undefined) throw new Error('Every field of a payload should have a description');
  const known = values.map((value) => `\`${String(value)}\``).join(', ');
  return known === '' ? description : `${description} Known: ${known}.`;
}

function insideOf(schema: z.core.$ZodType): Inside {
  const def = defOf(schema);
  if (def.type === 'optional' || def.type === 'nullable') return insideOf(def.innerType);
  if (def.type === 'object') return { type: 'object', way: '.', fields: def.shape };
  if (def.type === 'array') {
    const items = insideOf(def.element);
    return { ...items, type: `list of ${items.type}s`, way: '[].' };
  }
  if (def.type === 'union') {
    return { type: def.options.map((option) => insideOf(option).type).join(' or ') };
  }
  // A value that is converted from text or number is an id: handlers get text.
  if (def.type === 'pipe') return defOf(def.in).type === 'union' ? { type: 'string' } : insideOf(def.in);
  const values = z.globalRegistry.get(schema)?.['examples'];
  return { type: def.type, ...(Array.isArray(values) && { values }) };
}

function defOf(schema: z.core.$ZodType) {
  const { _zod } = schema as z.core.$ZodTypes;
  const { def } = _zod;
  return def;
}
