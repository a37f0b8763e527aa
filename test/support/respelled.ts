import { knownSchemes } from '../../src/signature/schemes.ts';
import type { SchemeName } from './public.ts';

/** The parts of a delivery's proof, taken from its headers: all that anybody who holds the delivery has. */
interface Held {
  readonly digest: Buffer;
  readonly time: string | undefined;
  readonly id: string | undefined;
}

/**
 * Writes the genuine signature of a delivery in another known scheme, without the secret. Whether it still verifies
 * depends on whether both schemes sign the same content with the same key.
 */
export function respelled(
  headers: Readonly<Record<string, string>>,
  from: SchemeName,
  to: SchemeName,
): Record<string, string> {
  const { digest, time = '', id = '' } = held(headers, from);
  const { header, syntax, encoding, content } = schemeOf(to);
  const isStandard = header === 'webhook-signature';
  const signature = digest.toString(encoding);
  return {
    'content-type': 'application/json',
    [header]: syntax === 'bare' ? signature : `${syntax === 't=,v1=' ? `t=${time},v1=` : syntax}${signature}`,
    ...(content.includes('{timestamp}') && {
      [isStandard ? 'webhook-timestamp' : 'x-webhook-timestamp']: time,
    }),
    ...(content.includes('{id}') && { [isStandard ? 'webhook-id' : 'x-webhook-traceid']: id }),
  };
}

function held(headers: Readonly<Record<string, string>>, from: SchemeName): Held {
  const { header, encoding } = schemeOf(from);
  const text = headers[header] ?? '';
  const [, t, signature = ''] = /^(?:t=([^,]*),)?(?:v1=|v1,|sha256=)?(.+)$/.exec(text) ?? [];
  return {
    digest: Buffer.from(signature, encoding),
    time: t ?? headers['webhook-timestamp'] ?? headers['x-webhook-timestamp'],
    id: headers['webhook-id'] ?? headers['x-webhook-traceid'],
  };
}

function schemeOf(name: SchemeName) {
  const scheme = knownSchemes.get(name);
  if (!scheme) throw new Error(`There is no scheme ${name}`);
  return scheme;
}
