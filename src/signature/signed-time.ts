import type { Headers, Scheme } from '../events/model.ts';
import { parseInstant } from '../kit/time.ts';
import { prepareScheme } from './content.ts';
import { headerText } from './headers.ts';
import { readSignatures } from './syntax.ts';

/**
 * The time that the signature of a delivery covers, in milliseconds since 1970, once it has verified in this scheme.
 * Undefined if the scheme signs no time.
 */
export function signedTimeOf(headers: Headers, scheme: Scheme): number | undefined {
  const { signs, timestampHeader } = prepareScheme(scheme);
  if (signs.timestamp) return parseInstant(headerText(headers, timestampHeader))?.milliseconds;
  if (!signs.t) return undefined;
  const signatures = readSignatures(headerText(headers, scheme.header) ?? '', scheme.syntax);
  return parseInstant(signatures?.t)?.milliseconds;
}
