/**
 * Two threads that take the turn to write as fast as they can. Each adds one to a count that nothing else protects, and
 * is held up at random before every step that the other thread can see, as a scheduler might do. The one argument is
 * the number of turns, as JSON. It prints one JSON line at the end, and none if a thread is never given the turn.
 */
import { MessageChannel, type MessagePort, Worker, isMainThread, workerData } from 'node:worker_threads';
import { turn } from '../support/clock.ts';
import { MainTurn, ThreadTurn, turnMessage } from '../../src/store/sqlite/writer/turn.ts';

interface Shared {
  readonly memory: Int32Array<SharedArrayBuffer>;
  /** How often the turn was taken, whether a thread has it, how often both had it, and whether the thread has ended. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly rounds: number;
  readonly port: MessagePort;
}

const [taken, inside, together, ended] = [0, 1, 2, 3];

function standUp(rounds: number): void {
  for (let round = 0; round < rounds; round += 1) held += round & 1;
}
let held = 0;

/** Usually doesn't hold up at all, but now and then for as long as the other thread needs for several turns. */
function holdUp(): void {
  const chance = Math.random();
  if (chance < 0.02) standUp(40_000);
  else if (chance < 0.2) standUp(1_000);
}

function holdUpBeforeEachStep(): void {
  for (const name of ['load', 'store', 'or', 'exchange', 'compareExchange', 'notify', 'wait'] as const) {
    const step = Atomics[name] as (...given: unknown[]) => unknown;
    Object.assign(Atomics, {
      [name]: (...given: unknown[]) => {
        holdUp();
        return step(...given);
      },
    });
  }
}

/** The work that only one thread may do at a time. */
function write(counts: Int32Array<SharedArrayBuffer>): void {
  const before = counts[taken] ?? 0;
  if (counts[inside] !== 0) counts[together] = (counts[together] ?? 0) + 1;
  counts[inside] = 1;
  standUp(100);
  counts[inside] = 0;
  counts[taken] = before + 1;
}

function beCommitThread({ memory, counts, rounds, port }: Shared): void {
  const own = new ThreadTurn(memory, (message) => port.postMessage(message));
  for (let round = 0; round < rounds; round += 1) {
    own.take();
    write(counts);
    own.give();
  }
  counts[ended] = 1;
  port.postMessage('ended');
}

async function beMainThread(rounds: number): Promise<void> {
  const own = new MainTurn();
  const counts = new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
  const { port1, port2 } = new MessageChannel();
  const threadEnded = Promise.withResolvers<void>();
  port1.on('message', (message) => (message === turnMessage ? own.granted() : threadEnded.resolve()));
  const shared: Shared = { memory: own.memory, counts, rounds, port: port2 };
  const worker = new Worker(new URL(import.meta.url), { workerData: shared, transferList: [port2] });

  let standing = 0;
  const waited: Promise<void>[] = [];
  // Until the commit thread has had all its turns, so that both threads always compete for the turn.
  while (counts[ended] === 0) {
    for (let time = Math.random() * 4; time > 0; time -= 1) {
      own.now(() => {
        write(counts);
        // Taking the turn again inside of a turn is allowed.
        if (time > 2) own.now(() => {});
      });
      standing += 1;
    }
    const mine = new Promise<void>((resolve) =>
      own.whenMine(() => {
        write(counts);
        resolve();
      }),
    );
    waited.push(mine);
    const next = Math.random();
    if (next < 0.5) await mine;
    else if (next < 0.75) await turn();
  }
  await threadEnded.promise;
  await Promise.all(waited);
  await worker.terminate();
  const [count, , atOnce] = counts;
  const due = rounds + standing + waited.length;
  const result = { together: atOnce, lost: due - (count ?? 0), main: standing + waited.length };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}

holdUpBeforeEachStep();
if (isMainThread) await beMainThread(Number(process.argv[2]));
else beCommitThread(workerData as Shared);
