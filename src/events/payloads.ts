/**
 * The payloads of the known events as types, written out so that an editor shows them by name, and each field with what it
 * means. They have documented fields only, so that a misspelled one is an error. Fields that the platform adds are on the
 * payload at run time, but for the compiler only in `event.body`. A test keeps them the same as the schemas.
 *
 * No interfaces: those would not be taken where a record is expected, and so not where any event is.
 */

/** One of the documented values; or another, because the platform may add some. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** The payload of a call that started. Fields that the platform adds: see `event.body`. */
export type CallStartedPayload = {
  /**
   * Which call the event is about: the same in all of its events, so records of calls are kept by it. Text without a fixed
   * format; a number is read as text. Also taken from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The AI agent that has the call: its id, as text. Also taken from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went, in a word: `success` is the one value that is known, and others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
};

/** The payload of a call that ended. Fields that the platform adds: see `event.body`. */
export type CallEndedPayload = {
  /**
   * Which call the event is about: the same in all of its events, so records of calls are kept by it. Text without a fixed
   * format; a number is read as text. Also taken from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The AI agent that has the call: its id, as text. Also taken from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went, in a word: `success` is the one value that is known, and others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
};

/** The payload of a post-call analysis. Fields that the platform adds: see `event.body`. */
export type PcaCompletedPayload = {
  /**
   * Which call the event is about: the same in all of its events, so records of calls are kept by it. Text without a fixed
   * format; a number is read as text. Also taken from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The AI agent that has the call: its id, as text. Also taken from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went, in a word: `success` is the one value that is known, and others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
  /** Why the analysis has this status: text for a person. Source: "Payload fields". */
  reason?: string | undefined;
  /**
   * When the analysis was ready, as it was sent: documented as a number of milliseconds since 1970, while the envelope's
   * own timestamp counts seconds. Source: "Payload fields".
   */
  timestamp?: string | number | undefined;
};

/**
 * The payload of a call that was transferred, the same whether it came flat or wrapped in the envelope. Fields that the
 * platform adds: see `event.body`.
 */
export type CallTransferredPayload = {
  /**
   * Which call the event is about: the same in all of its events, so records of calls are kept by it. Text without a fixed
   * format; a number is read as text. Also taken from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The AI agent that has the call: its id, as text. Also taken from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /**
   * How far the transfer is: `pending`, `initiated`, `success` or `failed`. Others may come. Source: "Call transfer event
   * body".
   */
  status?: Open<'pending' | 'initiated' | 'success' | 'failed'> | undefined;
  /**
   * Where the call goes: a SIP address, a phone number or an internal extension, as text; which of them is not said. May be
   * personal data. Source: "Call transfer event body".
   */
  transfer_to: string;
  /** What is known of who called. Source: "Call transfer event body". */
  caller?: TransferCaller | undefined;
  /** What happened in the call before the transfer. Source: "Call transfer event body". */
  call_summary?: TransferSummary | undefined;
  /** All that was said before the transfer, in order: personal data. Source: "Call transfer event body". */
  transcript?: TranscriptMessage[] | undefined;
  /** When the call was, and in which language. Source: "Call transfer event body". */
  metadata?: TransferMetadata | undefined;
};

/** Who called, in a transfer. */
export type TransferCaller = {
  /**
   * The number that the call came from, as text in the form in which the platform sends it: personal data. Source: "Call
   * transfer event body".
   */
  phone_number?: string | undefined;
};

/** The call before a transfer, in short. */
export type TransferSummary = {
  /** How long the caller had talked with the AI agent, in seconds. Source: "Call transfer event body". */
  duration_seconds?: number | undefined;
  /** What was talked about: a list of texts. Source: "Call transfer event body". */
  topics_discussed?: string[] | undefined;
  /** What the AI agent did in the call: a list of texts. Source: "Call transfer event body". */
  actions_taken?: string[] | undefined;
  /** Why the AI agent gave the call away: text for a person. Source: "Call transfer event body". */
  transfer_reason?: string | undefined;
  /** The caller's mood: `positive`, `neutral` or `negative`. Others may come. Source: "Call transfer event body". */
  customer_sentiment?: Open<'positive' | 'neutral' | 'negative'> | undefined;
  /** What was still open when the call was given away: a list of texts. Source: "Call transfer event body". */
  unresolved_issues?: string[] | undefined;
};

/** What one side said in one go. */
export type TranscriptMessage = {
  /** Who spoke: `user` is the caller, `agent` the AI agent. Others may come. Source: "Call transfer event body". */
  role?: Open<'user' | 'agent'> | undefined;
  /** What was said, as text: personal data. Source: "Call transfer event body". */
  content?: string | undefined;
};

/** When a transferred call was, and in which language. */
export type TransferMetadata = {
  /** When the call began, as it was sent: documented as text in ISO 8601. Source: "Call transfer event body". */
  call_start_time?: string | number | undefined;
  /**
   * When the call ended, or its transfer began, as it was sent: documented as text in ISO 8601. Source: "Call transfer event
   * body".
   */
  call_end_time?: string | number | undefined;
  /** The language of the call: a code of language and region, such as `en-US`. Source: "Call transfer event body". */
  language?: string | undefined;
};
