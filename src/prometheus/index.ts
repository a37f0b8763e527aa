/** The public entry `ringback/prometheus`. It needs the package `@prometheus-io/client`. */
export { collectMetrics } from './collect-metrics.ts';
