import { parseInstant } from '../../kit/time.ts';
import { type Detection, detectScheme, signatureHeaders } from '../../signature/detect.ts';
import { headerText } from '../../signature/headers.ts';
import { fingerprint } from '../../signature/secrets.ts';
import { readSignatures } from '../../signature/syntax.ts';
import type { Capture } from './capture.ts';
import { variantsOf } from './variants.ts';

/** How long a rotated secret also signs, in milliseconds (platform document, Signature). */
const bothSecrets = 72 * 3_600_000;

/** Explains in lines what is known about requests that no single scheme verifies. */
export function diagnose(
  captures: readonly Capture[],
  secrets: readonly string[],
  now: number,
): readonly string[] {
  const alone = captures.map((capture) => ({ capture, found: detectScheme([capture], secrets)[0] }));
  const verified = alone.flatMap(({ found }) => (found === undefined ? [] : [found]));
  return [
    `No scheme verifies ${captures.length === 1 ? 'this request' : `all of these ${captures.length} requests`} with ` +
      `the secret ${secrets.map(fingerprint).join(' or ')} (the beginning of its SHA-256).`,
    ...alone.flatMap(({ capture, found }) => [
      '',
      ...(found === undefined
        ? [
            `${capture.file} does not verify.`,
            ...reasonsOf(capture, secrets, verified, now).map((reason) => `  ${reason}`),
          ]
        : [`${capture.file} verifies, by itself, in the scheme ${found.option}.`]),
    ]),
  ];
}

/** The reasons that are certain, or else those that are likely. */
function reasonsOf(
  capture: Capture,
  secrets: readonly string[],
  others: readonly Detection[],
  now: number,
): readonly string[] {
  if (signatureHeaders(capture.headers).length === 0) {
    return [
      'There is no signature header: is signing enabled for the subscription? Or the capture left it out.',
    ];
  }
  const altered = alterations(capture, secrets);
  if (altered.length > 0) return altered;
  return [...(others.length > 0 ? besideOthers(others) : wrongSecret), ...aged(capture, now)];
}

/** The signs that the body is not the one that was signed. */
function alterations({ headers, body }: Capture, secrets: readonly string[]): readonly string[] {
  const reasons: string[] = [];
  const declared = headerText(headers, 'content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) !== body.byteLength) {
    reasons.push(
      `The body was altered: Content-Length says ${declared} bytes, but ${body.byteLength} follow the blank line. ` +
        'Save the body byte for byte.',
    );
  }
  if (headerText(headers, 'transfer-encoding')?.includes('chunked') === true) {
    reasons.push('It was sent with chunked encoding: save the body without the chunk lengths.');
  }
  for (const variant of variantsOf(body)) {
    const [found] = detectScheme([{ headers, body: variant.body }], secrets);
    if (found === undefined) continue;
    reasons.push(
      `The body was altered: it verifies ${variant.how}, in the scheme ${found.option}. ` +
        'Something that captured it, or is in front of the receiver, has rewritten it: pass the raw bytes on.',
    );
    break;
  }
  return reasons;
}

function besideOthers(others: readonly Detection[]): readonly string[] {
  const known = [...new Set(others.flatMap(({ secrets }) => secrets))].join(' or ');
  return [
    `Others verify with the secret ${known}, so either this one's body was altered, or it was signed with another secret.`,
  ];
}

const wrongSecret = [
  'The secret is most likely not the one that signed it: compare it with what the platform returned when signing ' +
    'was enabled, or rotated. A body that was altered on its way looks the same.',
];

function aged(capture: Capture, now: number): readonly string[] {
  const sentAt = sentAtOf(capture);
  if (sentAt === undefined || now - sentAt < bothSecrets) return [];
  const days = Math.floor((now - sentAt) / 86_400_000);
  return [`It is ${days} days old: if the secret was rotated since then, the old one is needed.`];
}

/** When a request was sent, in milliseconds since 1970, according to its signature, else to its header. */
export function sentAtOf({ headers }: Pick<Capture, 'headers'>): number | undefined {
  const signed = Object.keys(headers)
    .filter((name) => name.includes('signature'))
    .map((name) => readSignatures(headerText(headers, name) ?? '', 't=,v1=')?.t);
  const stated = ['x-webhook-timestamp', 'webhook-timestamp'].map((name) => headerText(headers, name));
  const instants = [...signed, ...stated].map((text) => parseInstant(text));
  return instants.find((instant) => instant !== undefined)?.milliseconds;
}
