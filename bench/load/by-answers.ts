import { AnswerReader } from './answer.ts';
import { Connection } from './connection.ts';
import type { Deliveries } from './deliveries.ts';
import { type LoadOrder, type LoadReport, answerTimeout } from './order.ts';
import { Tally } from './tally.ts';

/** Sends as fast as answers come: each connection sends its next delivery when it has the answer to the last. */
export function sendByAnswers(order: LoadOrder, deliveries: Deliveries): Promise<LoadReport> {
  return new Promise((resolve) => {
    const tally = new Tally(deliveries, order.tellsIds ?? false);
    const endsAt = performance.now() + order.seconds * 1_000;
    const reader = new AnswerReader();
    const connections = new Set<Connection>();
    let next = 0;
    let ranOut = false;

    const send = (connection: Connection, now: number) => {
      if (now >= endsAt) return connection.end();
      ranOut ||= next === deliveries.count;
      if (ranOut) return connection.end();
      connection.delivery = next;
      connection.sentAt = now;
      connection.send(deliveries.at(next));
      next += 1;
    };
    const events = {
      onAnswer: (connection: Connection, verdict: Parameters<Tally['answer']>[1]) => {
        const now = performance.now();
        tally.answer(connection.delivery, verdict, connection.sentAt, now);
        send(connection, now);
      },
      onGone: (connection: Connection, owed: boolean) => {
        if (owed) tally.break();
        connections.delete(connection);
        if (connections.size > 0) return;
        clearTimeout(timeout);
        resolve(tally.report(ranOut));
      },
    };
    const timeout = setTimeout(
      () => {
        for (const connection of connections) connection.cut();
      },
      order.seconds * 1_000 + answerTimeout,
    );
    for (let index = 0; index < order.connections; index += 1) {
      const connection = new Connection(order.port, reader, events);
      connections.add(connection);
      send(connection, performance.now());
    }
  });
}
