/**
 * What the platform documents of each event, read leniently: unknown fields are kept, enumerations stay open, ids sent
 * as numbers become strings, and a `null` in an optional field counts as missing (it is left out of the payload;
 * `event.body` still has it). Only fields without which an event is useless are required. What editors show of the
 * fields is in `payloads.ts`.
 */
import { z } from 'zod';
import { type KnownEventName, eventNames, isId, maxId } from './names.ts';

/**
 * An object that keeps unknown fields. Its type leaves them out on purpose: with an index signature every
 * misspelled field would be of type `unknown` instead of an error.
 */
function lenientObject<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

/** An id, sent as text or number. */
const id = () => z.union([z.string(), z.number()], { error: 'string or number' }).transform(String);

const notBlank = (error: string) => z.string().regex(/\S/, { error, abort: true });

/** A text or number without which an event is useless. It must not be blank. */
const required = () => {
  const error = 'string (not blank) or number';
  return z.union([notBlank(error), z.number()], { error }).transform(String);
};

/** The id of the call, if `readId` can read it: an event with any other id would belong to no call. */
const callId = () => {
  const error = `string (not blank, at most ${maxId} characters) or number`;
  const text = notBlank(error)
    .max(maxId, { error, abort: true })
    // `max` counts a character beyond U+FFFF as one, while `readId` measures ids in UTF-16 units.
    .refine(isId, { error });
  return z.union([text, z.number()], { error }).transform(String);
};

/** A string with known values; any other is accepted too. Only its type tells, for editors to suggest them. */
function openEnum<const Known extends string>(...known: readonly Known[]) {
  const text: z.ZodType<string, string> = z.string().meta({ examples: [...known] });
  return text as z.ZodType<Known | (string & Record<never, never>), string>;
}

/** Reads null as missing, and leaves anything else as it is. */
export function nullAsMissing<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}

/** A field that may be missing or null, and is then undefined when read. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .nullish()
    .transform(nullAsMissing<z.output<Schema>>)
    .optional();
}

const instant = () => z.union([z.string(), z.number()], { error: 'string or number' });

const callFields = {
  call_id: callId().describe('Call id; stable identity of the call. Its format is not fixed.'),
  agent_id: optional(id()).describe('Id of the AI agent.'),
  status: optional(openEnum('success')).describe('Status. Other values may come.'),
};

/** The payload of `CallHandler.CallStarted`. Source: "Payload fields". */
const callStartedPayload = lenientObject(callFields);

/** The payload of `CallHandler.CallEnded`. Source: "Payload fields". */
const callEndedPayload = lenientObject(callFields);

/** The payload of `callAnalysis.pcaCompleted`. Source: "Payload fields". */
const pcaCompletedPayload = lenientObject({
  ...callFields,
  reason: optional(z.string()).describe('Reason.'),
  timestamp: optional(instant()).describe('Documented as a UNIX timestamp in milliseconds.'),
});

const caller = lenientObject({
  phone_number: optional(id()).describe("Caller's phone number."),
});

const callSummary = lenientObject({
  duration_seconds: optional(z.number()).describe('Call duration in seconds before the transfer.'),
  topics_discussed: optional(z.array(z.string())).describe('Topics.'),
  actions_taken: optional(z.array(z.string())).describe('Actions by the AI agent.'),
  transfer_reason: optional(z.string()).describe('Reason for the transfer.'),
  customer_sentiment: optional(openEnum('positive', 'neutral', 'negative')).describe(
    'Sentiment of the caller.',
  ),
  unresolved_issues: optional(z.array(z.string())).describe('Issues unresolved before the transfer.'),
});

const transcriptItem = lenientObject({
  role: optional(openEnum('user', 'agent')).describe('Who speaks.'),
  content: optional(z.string()).describe('Message text.'),
});

const callMetadata = lenientObject({
  call_start_time: optional(instant()).describe('Documented as an ISO 8601 start time.'),
  call_end_time: optional(instant()).describe('Documented as an ISO 8601 end or transfer-initiation time.'),
  language: optional(z.string()).describe('Language code, for example of the form xx-XX.'),
});

/**
 * The payload of `CallHandler.CallTransferred`, the same whether the transfer came flat, as its documented sample did,
 * or in the envelope. Source: "Call transfer event body".
 */
const callTransferredPayload = lenientObject({
  ...callFields,
  status: optional(openEnum('pending', 'initiated', 'success', 'failed')).describe('State of the transfer.'),
  transfer_to: required().describe('Destination: a SIP address, a phone number or an internal extension.'),
  caller: optional(caller).describe('The caller.'),
  call_summary: optional(callSummary).describe('The call before the transfer.'),
  transcript: optional(z.array(transcriptItem)).describe('Complete transcript.'),
  metadata: optional(callMetadata).describe('Times and language of the call.'),
});

/** The schema of each known event's payload, by the event's name. */
export const payloadSchemas = {
  [eventNames.callStarted]: callStartedPayload,
  [eventNames.callEnded]: callEndedPayload,
  [eventNames.callTransferred]: callTransferredPayload,
  [eventNames.pcaCompleted]: pcaCompletedPayload,
} as const satisfies Record<KnownEventName, z.ZodObject>;

/** The fields around every payload. Source: "Envelope". */
const envelopeFields = {
  traceId: optional(id()).describe('Unique delivery identifier; used for deduplication.'),
  organizationId: optional(id()).describe('Organization id.'),
  eventName: optional(z.string()).describe('Event type, for example CallHandler.CallEnded.'),
  event: optional(z.string()).describe('Short event name, for example CallEnded.'),
  timestamp: optional(instant()).describe(
    'ISO 8601, or a UNIX timestamp in seconds; others are read as well.',
  ),
};

/** The names of the envelope's own fields. Everything else in a flat event is its payload. */
export const envelopeFieldNames: readonly string[] = [...Object.keys(envelopeFields), 'payload'];

/** The envelope of any event. */
export const envelope = lenientObject({
  ...envelopeFields,
  payload: lenientObject({}).describe('Event payload.'),
});

/** The envelope around one known event. */
export function envelopeOf<Name extends KnownEventName>(name: Name) {
  return lenientObject({
    ...envelopeFields,
    eventName: z.literal(name).describe('Event type.'),
    payload: payloadSchemas[name].describe('Event payload.'),
  });
}
