/**
 * The public entry `ringback/otel`. It needs the package `@opentelemetry/api`.
 *
 * @module ringback/otel
 */
export { followLinks } from './sampling.ts';
export { type InstrumentOptions, instrument } from './instrument.ts';
