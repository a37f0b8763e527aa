import { codeOf, messageOf } from '../kit/error-text.ts';
import { configError } from './errors.ts';

/**
 * Imports a package that Ringback does not bring, since most do without it: an optional peer dependency, loaded when it
 * is needed.
 *
 * @param purpose What it is needed for, as the error says it.
 * @param load Imports the package: `() => import('…')`, so that its types are known.
 * @throws ConfigError `package_missing`
 */
export async function importOptional<Package>(
  name: string,
  purpose: string,
  load: () => Promise<Package>,
): Promise<Package> {
  try {
    return await load();
  } catch (error) {
    // What is missing may also be something that the package itself needs: then its own words are what helps.
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND' || !messageOf(error).includes(`'${name}'`)) throw error;
    throw configError('package_missing', { name, purpose });
  }
}
