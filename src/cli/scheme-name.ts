import { type SchemeName, knownSchemes } from '../signature/schemes.ts';
import { argument } from './argument.ts';

/** The names of the known schemes. */
export const schemeNames = [...knownSchemes.keys()];

/** The name of a known scheme, as the argument of an option. */
export const schemeName = argument(`one of ${schemeNames.join(', ')}`, readSchemeName);

function readSchemeName(value: unknown): SchemeName | undefined {
  return schemeNames.find((name) => name === value);
}
