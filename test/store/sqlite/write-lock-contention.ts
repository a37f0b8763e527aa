/**
 * A writer that writes as fast as it can, and an app that borrows its lock as often as it can. Each adds one to a count
 * that nothing else protects, and is held up at random before every step that the other thread can see, as a scheduler
 * might do. The one argument is how often the writer writes, as JSON. It prints one JSON line at the end, and none if the
 * app is never given the lock.
 */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker, isMainThread, workerData } from 'node:worker_threads';
import { turn } from '../../support/clock.ts';
import { BorrowedLock, answerRequest } from '../../../src/store/sqlite/writer/write-lock.ts';

interface Shared {
  readonly memory: Int32Array<SharedArrayBuffer>;
  /** How often was written, whether a thread writes, how often both did, and how far the end has come. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly rounds: number;
  readonly port: MessagePort;
}

const [taken, inside, together, ended] = [0, 1, 2, 3];
/** The writer has written as often as it should, and only grants its lock; then the app wants nothing any more. */
const [onlyLends, isOver] = [1, 2];

function standUp(rounds: number): void {
  for (let round = 0; round < rounds; round += 1) held += round & 1;
}
let held = 0;

/** Usually doesn't hold up at all, but now and then for as long as the other thread needs to write several times. */
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

function beWriter({ memory, counts, rounds, port }: Shared): void {
  const grant = () =>
    answerRequest(
      memory,
      () => true,
      () => port.postMessage('answered'),
    );
  port.postMessage('begins');
  for (let round = 0; round < rounds; round += 1) {
    write(counts);
    grant();
  }
  counts[ended] = onlyLends;
  while (Atomics.load(counts, ended) !== isOver) grant();
  port.close();
}

async function beApp(rounds: number): Promise<void> {
  const lock = new BorrowedLock();
  // The writer never sleeps, so that nobody has to wake it.
  lock.writerBegins(() => {});
  const counts = new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
  const { port1, port2 } = new MessageChannel();
  const shared: Shared = { memory: lock.memory, counts, rounds, port: port2 };
  const worker = new Worker(new URL(import.meta.url), { workerData: shared, transferList: [port2] });
  // A thread takes seconds to start on a busy machine, and blocking the app meanwhile would exceed what it waits.
  await once(port1, 'message');
  port1.on('message', () => lock.onAnswered());

  let blocking = 0;
  const waited: Promise<void>[] = [];
  // Until the writer has written as often as it should, so that both always compete for the lock.
  while (counts[ended] === 0) {
    for (let time = Math.random() * 4; time > 0; time -= 1) {
      lock.now(() => {
        write(counts);
        // Borrowing the lock again while it is borrowed is allowed.
        if (time > 2) lock.now(() => {});
      });
      blocking += 1;
    }
    const mine = new Promise<void>((resolve) =>
      lock.later(() => {
        write(counts);
        resolve();
      }),
    );
    waited.push(mine);
    const next = Math.random();
    if (next < 0.5) await mine;
    else if (next < 0.75) await turn();
  }
  await Promise.all(waited);
  Atomics.store(counts, ended, isOver);
  await new Promise((resolve) => worker.once('exit', resolve));
  const [count, , atOnce] = counts;
  const due = rounds + blocking + waited.length;
  const result = { together: atOnce, lost: due - (count ?? 0), app: blocking + waited.length };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}

holdUpBeforeEachStep();
if (isMainThread) await beApp(Number(process.argv[2]));
else beWriter(workerData as Shared);
