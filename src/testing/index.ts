/**
 * The public entry `ringback/testing`: what tests of handlers need.
 *
 * @module ringback/testing
 */
import '../errors/unbundled.ts';
export { type DeliveryAnswer, deliver, deliverTo } from './deliver.ts';
export {
  buildDelivery,
  type DeliveryOptions,
  type DeliverySource,
  type SignedDelivery,
  testSecret,
} from './delivery.ts';
export { type Fixture, fixture, fixtureNames } from './fixtures.ts';
export { type HandledOptions, handled } from './handled.ts';
export { type ManualClock, manualClock } from './manual-clock.ts';
export { testReceiver } from './test-receiver.ts';
