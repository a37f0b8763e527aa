/**
 * The process of the load: it prepares and signs the deliveries of an order, sends them, and reports. It shares the
 * machine's cores with the server, so each microsecond that it takes lowers every figure. The results show its share.
 */
import { sendByAnswers } from './by-answers.ts';
import { Deliveries } from './deliveries.ts';
import { EvenLoad } from './even.ts';
import type { LoadOrder, LoadReport } from './order.ts';

// The benchmark has ended, or was interrupted.
process.on('disconnect', () => process.exit(0));
process.on('message', (order: LoadOrder) => {
  void send(order).then((report) => process.send?.(report));
});

function send(order: LoadOrder): Promise<LoadReport> {
  const deliveries = new Deliveries(order.port, order.body, order.max);
  return order.pace > 0 ? new EvenLoad(order, deliveries).run() : sendByAnswers(order, deliveries);
}
