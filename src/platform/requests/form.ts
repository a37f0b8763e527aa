/** A form with a file in it, as it is sent. */
export interface EncodedForm {
  /** With the boundary between the parts. */
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Encodes a form (RFC 7578) with one file. Every attempt then sends the same bytes, and a `fetch` of another package can
 * send them as well: it would write a `FormData` of Node's as the text `[object FormData]`.
 */
export async function encodedForm(field: string, name: string, content: Blob): Promise<EncodedForm> {
  // Read beforehand: with a file that can't be read, which it may have become, encoding would not come to its end.
  const file = new Blob([await content.arrayBuffer()], { type: content.type });
  const form = new FormData();
  form.set(field, file, name);
  const encoded = new Response(form);
  const contentType = encoded.headers.get('content-type') ?? 'multipart/form-data';
  return { contentType, bytes: new Uint8Array(await encoded.arrayBuffer()) };
}
