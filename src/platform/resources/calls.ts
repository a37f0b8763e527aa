import { z } from 'zod';
import { type CallOptions, readCallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { type OpenEnumeration, listOf } from '../requests/shapes.ts';
import { pathPart } from '../requests/address.ts';

/**
 * A call in the platform's answers, with all fields unchanged; only its id is required. None of it is in the platform's
 * document; it was seen in use.
 */
export interface PlatformCall {
  /** The call's id, named differently by this operation. */
  readonly _id: string;
  readonly call_status?: OpenEnumeration<'registered' | 'ongoing' | 'ended' | 'error'> | null | undefined;
  readonly call_start_time?: unknown;
  readonly call_end_time?: unknown;
  readonly call_duration_seconds?: number | null | undefined;
  readonly call_finish_reason?: string | null | undefined;
  readonly ai_agent_id?: string | null | undefined;
  /** The transcript: each entry has `role` and `content`. Personal data. */
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[] | null | undefined;
  readonly metadata?: unknown;
  readonly [field: string]: unknown;
}

const callShape = z.looseObject({
  _id: z.string(),
  call_status: z.string().nullish(),
  call_duration_seconds: z.number().nullish(),
  call_finish_reason: z.string().nullish(),
  ai_agent_id: z.string().nullish(),
  messages: listOf(z.looseObject({})).nullish(),
}) satisfies z.ZodType<PlatformCall>;

/** Reads calls. Not in the platform's document. */
export class PlatformCalls {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Reads one call, with its transcript. Not in the platform's document: seen in use.
   *
   * @throws PlatformError 404 when there is none of this id
   * @example const { call_duration_seconds } = await platform.calls.get(event.payload.call_id);
   */
  async get(callId: string, options: CallOptions = {}): Promise<PlatformCall> {
    const operation = 'calls.get';
    const { signal } = readCallOptions(options, operation);
    const path = `/v1/calls/${pathPart(callId, 'callId', operation)}`;
    return this.#connection.send({ operation, method: 'GET', path, signal }, callShape);
  }
}
