import type { RunKey } from '../run-key.ts';
import { inTransaction } from './connection/in-transaction.ts';
import type { OpenInbox } from './connection/open-inbox.ts';
import type { Session } from './connection/session.ts';

/** No write here waits for the disk: it has to outlive the process only. */
const limits = { endsWithProcess: true };

/** Reads an event between the note that it is read and the end of that note: see `Store.readNoted`. */
export async function readNoted<T>(
  session: Session,
  { sequence, handler }: Pick<RunKey, 'sequence'> & { readonly handler: string | undefined },
  read: () => T | Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  let reading: T | Promise<T> | undefined;
  let isEnded = false;
  /** Called with the turn to write, which is this thread's until the note has ended: nothing is waited for. */
  const onCommitted = (isHeld: boolean): void => {
    if (!isHeld) return;
    reading = outcomeOf(read);
    if (!(reading instanceof Promise)) isEnded = isEndedAtOnce(session.opened(), sequence);
  };
  const begin = ({ settling }: OpenInbox): boolean => settling.beginReading(sequence, handler);
  if (!(await session.write(begin, { ...limits, onCommitted }))) return undefined;
  try {
    return { value: (await reading) as T };
  } finally {
    if (!isEnded) await session.write(({ settling }) => settling.endReading(sequence), limits);
  }
}

/** An error is a rejection, and never thrown: the commit that noted the reading has not failed. */
function outcomeOf<T>(read: () => T | Promise<T>): T | Promise<T> {
  try {
    return read();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** False if another process has locked the database. */
function isEndedAtOnce({ database, settling }: OpenInbox, sequence: number): boolean {
  try {
    inTransaction(database, () => settling.endReading(sequence), { syncs: false });
    return true;
  } catch {
    return false;
  }
}
