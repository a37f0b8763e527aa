/** A process that only waits for its turn to write, which the commit thread gives back when nothing else goes on. */
import { setTimeout as wait } from 'node:timers/promises';
import { MainTurn, ThreadTurn } from '../../src/store/sqlite/writer/turn.ts';

const main = new MainTurn();
const thread = new ThreadTurn(main.memory, () => main.granted());
thread.take();
main.whenMine(() => process.stdout.write(`${JSON.stringify({ written: true })}\n`));
// As the commit thread, this holds no process.
void wait(50, undefined, { ref: false }).then(() => thread.give());
