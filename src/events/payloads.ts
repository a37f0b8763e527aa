/**
 * The types of the known events' payloads, written out so that an editor shows their names and what each field means.
 * They have documented fields only, so that a misspelled field is an error. Fields that the platform adds are in the
 * payload at run time, but typed only in `event.body`. A test keeps these types the same as the schemas.
 *
 * They are not interfaces, because an interface can't be assigned to a record, and so not to the payload of any event.
 */

/** One of the documented values, or another one: the platform may add some. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** The payload of a call that started. Fields that the platform adds: see `event.body`. */
export type CallStartedPayload = {
  /**
   * The call's id, the same in all events of the call. Text without a fixed format; a number is read as text. Also read
   * from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The id of the AI agent in the call, as text. Also read from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went. `success` is the only known value; others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
};

/** The payload of a call that ended. Fields that the platform adds: see `event.body`. */
export type CallEndedPayload = {
  /**
   * The call's id, the same in all events of the call. Text without a fixed format; a number is read as text. Also read
   * from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The id of the AI agent in the call, as text. Also read from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went. `success` is the only known value; others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
};

/** The payload of a post-call analysis. Fields that the platform adds: see `event.body`. */
export type PcaCompletedPayload = {
  /**
   * The call's id, the same in all events of the call. Text without a fixed format; a number is read as text. Also read
   * from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The id of the AI agent in the call, as text. Also read from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /** How it went. `success` is the only known value; others may come. Source: "Payload fields". */
  status?: Open<'success'> | undefined;
  /** The reason for the status, as text for people. Source: "Payload fields". */
  reason?: string | undefined;
  /**
   * When the analysis was ready, as it was sent. Documented as milliseconds since 1970, while the envelope's timestamp
   * is in seconds. Source: "Payload fields".
   */
  timestamp?: string | number | undefined;
};

/**
 * The payload of a transferred call, the same whether it came flat or in the envelope. Fields that the platform adds:
 * see `event.body`.
 */
export type CallTransferredPayload = {
  /**
   * The call's id, the same in all events of the call. Text without a fixed format; a number is read as text. Also read
   * from `callId` and `_id`. Source: "Payload fields".
   */
  call_id: string;
  /** The id of the AI agent in the call, as text. Also read from `ai_agent_id`. Source: "Payload fields". */
  agent_id?: string | undefined;
  /**
   * The state of the transfer: `pending`, `initiated`, `success` or `failed`. Others may come. Source: "Call transfer
   * event body".
   */
  status?: Open<'pending' | 'initiated' | 'success' | 'failed'> | undefined;
  /**
   * Where the call goes, as text: a SIP address, a phone number or an internal extension; nothing shows which. May be
   * personal data. Source: "Call transfer event body".
   */
  transfer_to: string;
  /** What is known about the caller. Source: "Call transfer event body". */
  caller?: TransferCaller | undefined;
  /** What happened in the call before the transfer. Source: "Call transfer event body". */
  call_summary?: TransferSummary | undefined;
  /** Everything said before the transfer, in order: personal data. Source: "Call transfer event body". */
  transcript?: TranscriptMessage[] | undefined;
  /** The times and the language of the call. Source: "Call transfer event body". */
  metadata?: TransferMetadata | undefined;
};

/** The caller of a transferred call. */
export type TransferCaller = {
  /**
   * The number that the call came from, as the platform writes it: personal data. Source: "Call transfer event
   * body".
   */
  phone_number?: string | undefined;
};

/** A summary of the call before the transfer. */
export type TransferSummary = {
  /** How long the caller talked with the AI agent, in seconds. Source: "Call transfer event body". */
  duration_seconds?: number | undefined;
  /** The topics of the call, as texts. Source: "Call transfer event body". */
  topics_discussed?: string[] | undefined;
  /** What the AI agent did in the call, as texts. Source: "Call transfer event body". */
  actions_taken?: string[] | undefined;
  /** Why the AI agent transferred the call, as text for people. Source: "Call transfer event body". */
  transfer_reason?: string | undefined;
  /** The caller's mood: `positive`, `neutral` or `negative`. Others may come. Source: "Call transfer event body". */
  customer_sentiment?: Open<'positive' | 'neutral' | 'negative'> | undefined;
  /** What was unresolved when the call was transferred, as texts. Source: "Call transfer event body". */
  unresolved_issues?: string[] | undefined;
};

/** One message of the transcript. */
export type TranscriptMessage = {
  /** Who spoke: `user` is the caller, `agent` the AI agent. Others may come. Source: "Call transfer event body". */
  role?: Open<'user' | 'agent'> | undefined;
  /** What was said, as text: personal data. Source: "Call transfer event body". */
  content?: string | undefined;
};

/** The times and the language of a transferred call. */
export type TransferMetadata = {
  /** When the call began, as it was sent. Documented as text in ISO 8601. Source: "Call transfer event body". */
  call_start_time?: string | number | undefined;
  /**
   * When the call ended or its transfer began, as it was sent. Documented as text in ISO 8601. Source: "Call transfer
   * event body".
   */
  call_end_time?: string | number | undefined;
  /** The language of the call, a code such as `en-US`. Source: "Call transfer event body". */
  language?: string | undefined;
};
