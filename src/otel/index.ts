/** The public entry `ringback/otel`. It needs the package `@opentelemetry/api`. */
export { type InstrumentOptions, instrument } from './instrument.ts';
