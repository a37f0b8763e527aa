import type { Headers, Layout } from '../model.ts';
import { bodyBytes, prepareLayout } from './content.ts';
import { headerText, lowerCase } from './headers.ts';
import type { AnyHeaders } from './headers.ts';
import { describeLayout } from './layouts.ts';
import { matchSignature } from './match.ts';
import type { Digests } from './match.ts';
import { prepareSecrets } from './secrets.ts';
import type { PreparedSecret, Secrets } from './secrets.ts';
import { readDigests, readSignatures } from './syntax.ts';

/** A request that was captured: its headers and its raw bytes. */
export interface Sample {
  readonly headers: AnyHeaders;
  readonly body: Uint8Array | string;
}

/** A layout in which every sample verified, and what shows it. */
export interface Detection {
  readonly layout: Layout;
  /** What to set as the option `signature`. */
  readonly option: string;
  readonly timestampSigned: boolean;
  /** For each sample, in order, the fingerprint of the secret that signed it. */
  readonly secrets: readonly string[];
}

const forms = [
  { hash: 'sha256', encoding: 'hex' },
  { hash: 'sha256', encoding: 'base64' },
  { hash: 'sha512', encoding: 'hex' },
  { hash: 'sha512', encoding: 'base64' },
] as const;
const keys = ['whole', 'suffix', 'suffix-base64'] as const;
const syntaxes = ['v1=', 't=,v1=', 'sha256=', 'v1,', 'bare'] as const;

/** Beyond the known ones: the same parts in the orders and with the separators that other services use. */
const separators = ['.', '', ':', '\n'];
const signedWithBody = [
  '{t}',
  '{timestamp}',
  '{id}',
  '{id}.{timestamp}',
  '{timestamp}.{id}',
  '{id}.{t}',
  '{t}.{id}',
];
const contents = ['{body}'].concat(
  signedWithBody.flatMap((signed) =>
    separators.flatMap((between) => [`${signed}${between}{body}`, `{body}${between}${signed}`]),
  ),
);

/**
 * Finds out how captured requests are signed: tries every header, syntax, content, encoding, hash and key, and
 * returns those that hold for all samples. Their times are not looked at, since captured requests are old.
 * One result is a finding; none means another layout or another secret.
 *
 * @throws ConfigError `secret_malformed` for a secret that isn't one.
 */
export function detectLayout(samples: readonly Sample[], secrets: Secrets): readonly Detection[] {
  const prepared = prepareSecrets(secrets);
  const [first, ...others] = samples.map((sample) => capture(sample));
  if (first === undefined) return [];
  const detections: Detection[] = [];
  for (const layout of layoutsFor(first.headers)) {
    const found = secretsBehind(layout, [first, ...others], prepared);
    if (found === undefined) continue;
    const timestampSigned = /\{t(?:imestamp)?\}/.test(layout.content);
    detections.push({ layout, option: describeLayout(layout), timestampSigned, secrets: found });
  }
  return detections;
}

interface Captured {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly digests: Digests;
}

function capture({ headers, body }: Sample): Captured {
  return { headers: lowerCase(headers), bytes: bodyBytes(body), digests: new Map() };
}

/** Every layout that the headers could be written in. What can't be a signature is dropped before it costs anything. */
function* layoutsFor(headers: Headers): Generator<Layout> {
  for (const header of Object.keys(headers)) {
    let isWritten = false;
    for (const syntax of syntaxes) {
      // Without its v1, what follows it would pass for a bare signature.
      if (syntax === 'bare' && isWritten) continue;
      const items = readSignatures(headerText(headers, header) ?? '', syntax)?.items ?? [];
      for (const { hash, encoding } of forms) {
        if (syntax === 'sha256=' && hash !== 'sha256') continue;
        if (readDigests(items, { hash, encoding }).length === 0) continue;
        isWritten = true;
        for (const content of contents) {
          // A header with t= is read by "v1=" as well: only what is signed tells the two apart.
          if ((syntax === 't=,v1=') !== content.includes('{t}')) continue;
          for (const key of keys) yield { header, syntax, content, encoding, hash, key };
        }
      }
    }
  }
}

/** The fingerprint of the secret behind each sample, or undefined when one of them doesn't verify. */
function secretsBehind(
  layout: Layout,
  samples: readonly Captured[],
  secrets: readonly PreparedSecret[],
): readonly string[] | undefined {
  const prepared = prepareLayout(layout);
  const fingerprints: string[] = [];
  for (const { bytes, headers, digests } of samples) {
    const match = matchSignature(bytes, headers, secrets, prepared, digests);
    if (typeof match === 'string') return undefined;
    fingerprints.push(match.secret.fingerprint);
  }
  return fingerprints;
}
