import { codeOf, messageOf } from '../kit/error-text.ts';
import { configError } from './errors.ts';

/**
 * Imports an optional peer dependency when it is needed.
 *
 * @param purpose What it is needed for, in the words of the error.
 * @param load Imports the package: `() => import('…')`, which keeps its types.
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
    // If a dependency of the package is missing, its own message is more helpful.
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND' || !messageOf(error).includes(`'${name}'`)) throw error;
    throw configError('package_missing', { name, purpose });
  }
}
