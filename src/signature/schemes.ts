import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { closest } from '../errors/closest-name.ts';
import { headerName } from '../kit/header-fields.ts';
import type { Scheme } from '../events/model.ts';
import { prepareScheme } from './content.ts';
import type { PreparedScheme } from './content.ts';

const platformHeader = 'x-webhook-signature';

/**
 * How the platform may sign, most likely first. It documents only the header and `v1=`; the rest is what comparable
 * services do.
 */
const shapes = [
  { name: 't-v1', syntax: 't=,v1=', content: '{t}.{body}' },
  { name: 'v1', syntax: 'v1=', content: '{body}' },
  { name: 'v1-timestamp', syntax: 'v1=', content: '{timestamp}.{body}' },
  { name: 'sha256', syntax: 'sha256=', content: '{body}' },
  { name: 'bare', syntax: 'bare', content: '{body}' },
] as const;

/** Standard Webhooks, in its own headers and in the platform's. */
const standards = [
  { name: 'standard-webhooks', header: 'webhook-signature' },
  { name: 'x-standard-webhooks', header: platformHeader },
] as const;

export const syntaxes = ['v1=', 't=,v1=', 'sha256=', 'v1,', 'bare'] as const;
export const encodings = ['hex', 'base64'] as const;
export const hashes = ['sha256', 'sha512'] as const;
export const keyKinds = ['whole', 'suffix', 'suffix-base64'] as const;

const fields = ['header', 'syntax', 'content', 'encoding', 'hash', 'key'] as const satisfies (keyof Scheme)[];

/** The name of a known scheme: its syntax and signed content, its encoding, its key. */
export type SchemeName =
  | `${(typeof shapes)[number]['name']}-${(typeof encodings)[number]}-${Scheme['key']}`
  | `${(typeof standards)[number]['name']}-${Scheme['key']}`;

/** How the platform signs: `'auto'` to try every known scheme, the name of a known scheme, or a scheme in full. */
export type SignatureOption = 'auto' | SchemeName | Scheme;

/** Every scheme that `'auto'` tries, by name. The names are stable: users' configurations hold them. */
export const knownSchemes: ReadonlyMap<SchemeName, Scheme> = new Map(listSchemes());

const list = fields.join(', ');

/** A scheme described by a user. */
export const schemeSchema = z
  .strictObject(
    {
      header: z
        .string('should be the name of a header')
        .regex(headerName, 'should be the name of a header')
        .transform((name) => name.toLowerCase())
        .default(platformHeader),
      syntax: z.enum(syntaxes, "should be 'v1=', 't=,v1=', 'sha256=', 'v1,' or 'bare'"),
      content: z
        .string('should be a text such as {t}.{body}')
        .refine(hasBodyOnce, 'should contain {body} exactly once')
        .refine(
          hasKnownPlaceholders,
          'may contain no placeholders other than {body}, {t}, {id} and {timestamp}',
        ),
      encoding: z.enum(encodings, "should be 'hex' or 'base64'"),
      hash: z.enum(hashes, "should be 'sha256' or 'sha512'").default('sha256'),
      key: z.enum(keyKinds, "should be 'whole', 'suffix' or 'suffix-base64'"),
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys' ? `has no more than ${list}` : `an object with ${list}`,
    },
  )
  .refine((scheme) => scheme.syntax === 't=,v1=' || !scheme.content.includes('{t}'), {
    path: ['content'],
    message: 'can contain {t} only with the syntax "t=,v1=", where t is found',
  })
  .refine((scheme) => scheme.syntax !== 'sha256=' || scheme.hash === 'sha256', {
    path: ['hash'],
    message: 'should be sha256, as the syntax "sha256=" says',
  }) satisfies z.ZodType<Scheme>;

export function schemeNamed(name: string): Scheme | undefined {
  return isSchemeName(name) ? knownSchemes.get(name) : undefined;
}

function isSchemeName(name: string): name is SchemeName {
  const byAnyText: ReadonlyMap<string, Scheme> = knownSchemes;
  return byAnyText.has(name);
}

/**
 * The value of the option `signature` for a scheme: its name if it has one, else the scheme as JSON.
 *
 * @example if (verification.ok) console.log(describeScheme(verification.scheme)); // t-v1-hex-whole
 */
export function describeScheme(scheme: Scheme): string {
  for (const [name, known] of knownSchemes) if (isSameScheme(known, scheme)) return name;
  return JSON.stringify(Object.fromEntries(fields.map((field) => [field, scheme[field]])));
}

/**
 * The schemes that the option `signature` stands for, ready for use.
 *
 * @throws ConfigError `option_invalid` for an unknown name or an invalid scheme object.
 */
export function resolveSchemes(signature: SignatureOption): readonly PreparedScheme[] {
  if (signature === 'auto') return [...knownSchemes.values()].map(prepareScheme);
  return [prepareScheme(resolveScheme(signature, 'signature', `'auto', ${oneScheme}`))];
}

const oneScheme = 'the name of a known scheme, or a scheme object';

/** The one scheme that an option stands for. The error names `option` and `expected`. */
export function resolveScheme(value: SchemeName | Scheme, option: string, expected = oneScheme): Scheme {
  if (typeof value === 'string') {
    const known = schemeNamed(value);
    if (known !== undefined) return known;
    throw configError('option_invalid', { option, expected, ...unknownName(value) });
  }
  const read = schemeSchema.safeParse(value);
  if (read.success) return read.data;
  const found = read.error.issues.map((issue) => [...issue.path, issue.message].join(': ')).join('; ');
  throw configError('option_invalid', { option, expected, found: `not a scheme (${found})` });
}

/** How many names a sentence suggests. */
const maxSuggested = 5;
const whereAllAre = 'docs/signature.md#schemes lists them all.';

/** Quotes the value only if it is close to a scheme's name: it may be the secret, given for the wrong option. */
function unknownName(value: string): { readonly found: string; readonly fix: string } {
  const meant = meantNames(value);
  if (meant.length === 0)
    return { found: 'an unknown name', fix: `One of the names is t-v1-hex-whole; ${whereAllAre}` };
  const fix =
    meant.length <= maxSuggested
      ? `Did you mean ${meant.join(' or ')}?`
      : `${meant.length} names begin so; ${whereAllAre}`;
  return { found: JSON.stringify(value), fix };
}

/** The closest name, or else the names that begin with this one. */
function meantNames(value: string): readonly string[] {
  const names = [...knownSchemes.keys()];
  const nearest = closest(value, names);
  if (nearest !== undefined) return [nearest];
  return value === '' ? [] : names.filter((name) => name.startsWith(`${value}-`));
}

function listSchemes(): [SchemeName, Scheme][] {
  const schemes: [SchemeName, Scheme][] = [];
  for (const { name, syntax, content } of shapes) {
    for (const encoding of encodings) {
      for (const key of keyKinds) {
        const scheme = { header: platformHeader, syntax, content, encoding, hash: 'sha256', key } as const;
        schemes.push([`${name}-${encoding}-${key}`, Object.freeze(scheme)]);
      }
    }
  }
  for (const { name, header } of standards) {
    for (const key of keyKinds) {
      const content = '{id}.{timestamp}.{body}';
      const scheme = { header, syntax: 'v1,', content, encoding: 'base64', hash: 'sha256', key } as const;
      schemes.push([`${name}-${key}`, Object.freeze(scheme)]);
    }
  }
  return schemes;
}

function isSameScheme(left: Scheme, right: Scheme): boolean {
  return fields.every((field) => left[field] === right[field]);
}

function hasBodyOnce(content: string): boolean {
  return content.split('{body}').length === 2;
}

function hasKnownPlaceholders(content: string): boolean {
  return !/[{}]/.test(content.replaceAll(/\{(?:body|t|id|timestamp)\}/g, ''));
}
