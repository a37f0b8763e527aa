/**
 * Refuses to run as part of a bundle. The entry points that need Ringback's own files import this before all else: what is in
 * the wrong place would otherwise fail somewhere, and not say why.
 *
 * @throws ConfigError `bundled`
 */
import { isBundled } from '../kit/own-files.ts';
import { configError } from './errors.ts';

if (isBundled()) throw configError('bundled');
