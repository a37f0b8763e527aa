import { z } from 'zod';
import { parseStrictly } from '../../errors/option-problems.ts';
import type { EncodedForm, PlatformRequest } from '../requests/request.ts';

/** A file for a knowledge base. */
export interface FileToUpload {
  /** With its extension, by which the platform may recognize the type: `handbook.pdf`. */
  readonly name: string;
  /** Text is sent as UTF-8. */
  readonly content: Uint8Array | string | Blob;
  /** For example `application/pdf`. @default that of a Blob, else `application/octet-stream` */
  readonly contentType?: string | undefined;
}

/** The source of a document: a file, or the addresses of a website's pages. */
export type Submission = FileToUpload | readonly string[];

/** The content of a submission's request. Each request that arrives makes another document. */
export interface ReadySubmission extends Pick<PlatformRequest, 'body' | 'form'> {
  readonly by: 'upload' | 'crawl';
}

/** The name of the form's field is not in the platform's document. */
const field = 'file';

const fileSchema = z.strictObject({
  name: z.string('the name of a file').min(1, 'the name of a file'),
  content: z.custom<FileToUpload['content']>(
    (value) => typeof value === 'string' || value instanceof Uint8Array || value instanceof Blob,
    'text, a Uint8Array or a Blob',
  ),
  contentType: z
    .string("a media type such as 'application/pdf'")
    .regex(/^[!-~]+\/[ -~]+$/, "a media type such as 'application/pdf'")
    .optional(),
});

const urlsSchema = z.strictObject({
  urls: z
    .array(
      z.url({
        protocol: /^https?$/,
        error: 'the address of a page, beginning with https:// or http://',
      }),
      'a list of addresses',
    )
    .min(1, 'a list with an address in it'),
});

/** @throws ConfigError, without the content */
export async function fileSubmission(file: FileToUpload, operation: string): Promise<ReadySubmission> {
  const { name, content, contentType } = parseStrictly(fileSchema, file, operation, 'file');
  const type = contentType ?? (content instanceof Blob ? content.type : '');
  // Copied, because a Blob accepts no shared memory.
  const part = content instanceof Uint8Array ? new Uint8Array(content) : content;
  return { by: 'upload', form: await encodedForm(name, new Blob([part], { type })) };
}

export function websiteSubmission(urls: readonly string[], operation: string): ReadySubmission {
  return { by: 'crawl', body: parseStrictly(urlsSchema, { urls }, operation) };
}

export async function readySubmission(submission: Submission, operation: string): Promise<ReadySubmission> {
  return isList(submission)
    ? websiteSubmission(submission, operation)
    : fileSubmission(submission, operation);
}

function isList(submission: Submission): submission is readonly string[] {
  return Array.isArray(submission);
}

/**
 * Encodes a form (RFC 7578) with one file, so that every attempt sends the same bytes, and a `fetch` of another package
 * can send them: it would write Node's `FormData` as the text `[object FormData]`.
 */
async function encodedForm(name: string, content: Blob): Promise<EncodedForm> {
  // Read first: if the file has become unreadable, encoding the form would never end.
  const file = new Blob([await content.arrayBuffer()], { type: content.type });
  const form = new FormData();
  form.set(field, file, name);
  const encoded = new Response(form);
  const contentType = encoded.headers.get('content-type') ?? 'multipart/form-data';
  return { contentType, bytes: new Uint8Array(await encoded.arrayBuffer()) };
}
