/**
 * Refuses to run as part of a bundle. Entry points that need Ringback's own files import this first: otherwise a
 * missing file would fail somewhere else, without the reason.
 *
 * @throws ConfigError `bundled`
 */
import { isBundled } from '../kit/files.ts';
import { configError } from './errors.ts';

if (isBundled()) throw configError('bundled');
