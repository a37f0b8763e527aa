import { jsonIn } from '../../kit/http-bodies.ts';
import { parseInstant } from '../../kit/time.ts';
import { type Detection, detectScheme, signatureHeaders } from '../../signature/detect.ts';
import { headerText, readSignatures } from '../../signature/headers.ts';
import { fingerprint } from '../../signature/secrets.ts';
import type { Capture } from './capture.ts';

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

interface Variant {
  /** Completes "it verifies …". */
  readonly how: string;
  readonly body: Buffer;
}

/**
 * The body with the most frequent alterations between the platform and a file: at its end by an editor, in its line
 * breaks by a transfer, or everywhere by a parser that rewrote the JSON. The variant that verifies shows what happened.
 */
function variantsOf(body: Buffer): readonly Variant[] {
  const variants = [...lineBreaks(body), ...unlessTooDeep(() => rewritten(body))];
  return variants.filter((variant) => !variant.body.equals(body));
}

/** No variants if the JSON is nested too deeply to write: a parser on the way couldn't have rewritten it either. */
function unlessTooDeep(write: () => readonly Variant[]): readonly Variant[] {
  try {
    return write();
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Reads the body as latin1, which preserves every byte. */
function lineBreaks(body: Buffer): readonly Variant[] {
  const text = body.toString('latin1');
  const variants = {
    'without the line break at its end': text.replace(/[\r\n]+$/, ''),
    'with a line break (LF) at its end': `${text}\n`,
    'with LF for each CRLF': text.replaceAll('\r\n', '\n'),
    'with CRLF for each LF': text.replaceAll(/\r?\n/g, '\r\n'),
  };
  return Object.entries(variants).map(([how, changed]) => ({ how, body: Buffer.from(changed, 'latin1') }));
}

function rewritten(body: Buffer): readonly Variant[] {
  const value = jsonIn(body.toString());
  if (value === undefined) return [];
  const texts = {
    'as JSON without whitespace': JSON.stringify(value),
    'as JSON with a space after each comma and colon': spaced(value),
    'as JSON indented by two spaces': JSON.stringify(value, null, 2),
    'as JSON indented by four spaces': JSON.stringify(value, null, 4),
  };
  return Object.entries(texts).flatMap(([how, text]) => [
    { how, body: Buffer.from(text) },
    { how: `${how}, in ASCII only`, body: Buffer.from(inAscii(text)) },
  ]);
}

/** JSON with a space after each comma and colon, the default in some languages. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`);
  return `{${entries.join(', ')}}`;
}

function inAscii(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
