import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { closest } from '../kit/closest-name.ts';
import { headerName } from '../kit/header-fields.ts';
import type { Layout } from '../events/model.ts';
import { prepareLayout } from './content.ts';
import type { PreparedLayout } from './content.ts';

const platformHeader = 'x-webhook-signature';

/**
 * The ways of signing that the platform may use, most likely first. The platform documents only the header and
 * `v1=`; the rest is what comparable services do.
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

const encodings = ['hex', 'base64'] as const;
const keyKinds = ['whole', 'suffix', 'suffix-base64'] as const;

const fields = ['header', 'syntax', 'content', 'encoding', 'hash', 'key'] as const satisfies (keyof Layout)[];

/** The name of a known layout: its syntax and signed content, its encoding, its key. */
export type LayoutName =
  | `${(typeof shapes)[number]['name']}-${(typeof encodings)[number]}-${Layout['key']}`
  | `${(typeof standards)[number]['name']}-${Layout['key']}`;

/** How the platform signs: `'auto'` to try every known layout, the name of a known layout, or a layout in full. */
export type SignatureOption = 'auto' | LayoutName | Layout;

/** Every layout that `'auto'` tries, by name. The names are stable: users' configurations hold them. */
export const knownLayouts: ReadonlyMap<LayoutName, Layout> = new Map(listLayouts());

const list = fields.join(', ');

/** A layout described by a user. */
export const layoutSchema = z
  .strictObject(
    {
      header: z
        .string('should be the name of a header')
        .regex(headerName, 'should be the name of a header')
        .transform((name) => name.toLowerCase())
        .default(platformHeader),
      syntax: z.enum(
        ['v1=', 't=,v1=', 'sha256=', 'v1,', 'bare'],
        "should be 'v1=', 't=,v1=', 'sha256=', 'v1,' or 'bare'",
      ),
      content: z
        .string('should be a text such as {t}.{body}')
        .refine(hasBodyOnce, 'should contain {body} exactly once')
        .refine(hasKnownPlaceholders, 'may contain no placeholders but {body}, {t}, {id} and {timestamp}'),
      encoding: z.enum(encodings, "should be 'hex' or 'base64'"),
      hash: z.enum(['sha256', 'sha512'], "should be 'sha256' or 'sha512'").default('sha256'),
      key: z.enum(keyKinds, "should be 'whole', 'suffix' or 'suffix-base64'"),
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys' ? `has no more than ${list}` : `an object with ${list}`,
    },
  )
  .refine((layout) => layout.syntax === 't=,v1=' || !layout.content.includes('{t}'), {
    path: ['content'],
    message: 'can contain {t} only with the syntax "t=,v1=", where t is found',
  })
  .refine((layout) => layout.syntax !== 'sha256=' || layout.hash === 'sha256', {
    path: ['hash'],
    message: 'should be sha256, as the syntax "sha256=" says',
  }) satisfies z.ZodType<Layout>;

/** The known layout of that name, or undefined. */
export function layoutNamed(name: string): Layout | undefined {
  return isLayoutName(name) ? knownLayouts.get(name) : undefined;
}

function isLayoutName(name: string): name is LayoutName {
  const byAnyText: ReadonlyMap<string, Layout> = knownLayouts;
  return byAnyText.has(name);
}

/** What to set as the option `signature` to get this layout: its name when it has one, else the layout as JSON. */
export function describeLayout(layout: Layout): string {
  for (const [name, known] of knownLayouts) if (isSameLayout(known, layout)) return name;
  return JSON.stringify(Object.fromEntries(fields.map((field) => [field, layout[field]])));
}

/**
 * The layouts that the option `signature` stands for, ready for use.
 *
 * @throws ConfigError `option_invalid` for an unknown name or an invalid layout object.
 */
export function resolveLayouts(signature: SignatureOption): readonly PreparedLayout[] {
  if (signature === 'auto') return [...knownLayouts.values()].map(prepareLayout);
  return [prepareLayout(resolveLayout(signature, 'signature', `'auto', ${oneLayout}`))];
}

const oneLayout = 'the name of a known layout, or a layout object';

/** The one layout that an option stands for; `option` and `expected` tell of it in the error. */
export function resolveLayout(value: LayoutName | Layout, option: string, expected = oneLayout): Layout {
  if (typeof value === 'string') {
    const known = layoutNamed(value);
    if (known !== undefined) return known;
    throw configError('option_invalid', { option, expected, ...unknownName(value) });
  }
  const read = layoutSchema.safeParse(value);
  if (read.success) return read.data;
  const found = read.error.issues.map((issue) => [...issue.path, issue.message].join(': ')).join('; ');
  throw configError('option_invalid', { option, expected, found: `not a layout (${found})` });
}

/** The value may be the secret, given for the wrong option. So it is quoted only if it is nearly the name of a layout. */
function unknownName(value: string): { readonly found: string; readonly fix: string } {
  const meant = meantNames(value);
  return meant.length === 0
    ? { found: 'an unknown name', fix: 'One of the names is t-v1-hex-whole; docs/signature.md has all.' }
    : { found: JSON.stringify(value), fix: `Did you mean ${meant.join(' or ')}?` };
}

/** The closest name, else the names of which this is the beginning. */
function meantNames(value: string): readonly string[] {
  const names = [...knownLayouts.keys()];
  const nearest = closest(value, names);
  if (nearest !== undefined) return [nearest];
  return value === '' ? [] : names.filter((name) => name.startsWith(`${value}-`));
}

function listLayouts(): [LayoutName, Layout][] {
  const layouts: [LayoutName, Layout][] = [];
  for (const { name, syntax, content } of shapes) {
    for (const encoding of encodings) {
      for (const key of keyKinds) {
        const layout = { header: platformHeader, syntax, content, encoding, hash: 'sha256', key } as const;
        layouts.push([`${name}-${encoding}-${key}`, Object.freeze(layout)]);
      }
    }
  }
  for (const { name, header } of standards) {
    for (const key of keyKinds) {
      const content = '{id}.{timestamp}.{body}';
      const layout = { header, syntax: 'v1,', content, encoding: 'base64', hash: 'sha256', key } as const;
      layouts.push([`${name}-${key}`, Object.freeze(layout)]);
    }
  }
  return layouts;
}

function isSameLayout(left: Layout, right: Layout): boolean {
  return fields.every((field) => left[field] === right[field]);
}

function hasBodyOnce(content: string): boolean {
  return content.split('{body}').length === 2;
}

function hasKnownPlaceholders(content: string): boolean {
  return !/[{}]/.test(content.replaceAll(/\{(?:body|t|id|timestamp)\}/g, ''));
}
