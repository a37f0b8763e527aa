/**
 * The public entry `ringback/prometheus`. It needs the package `@prometheus-io/client`.
 *
 * @module ringback/prometheus
 */
export { collectMetrics } from './collect-metrics.ts';
