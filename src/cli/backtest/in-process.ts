import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ringbackError } from '../../errors/errors.ts';
import { threadFile } from '../../kit/files.ts';
import { beforeEnd, stopSignal } from '../signals.ts';
import { copyCause, temporaryFix } from '../../store/sqlite/admin/copy-inbox.ts';
import type { BacktestRequest } from './backtest.ts';
import type { BacktestEnd } from './backtest-process.ts';

/** In its own process and a temporary folder, which is always removed. Resolves to undefined if a signal stopped it. */
export async function inProcess(
  request: Omit<BacktestRequest, 'folder'>,
  { isNetworkAllowed }: { readonly isNetworkAllowed: boolean },
): Promise<BacktestEnd | undefined> {
  const stopped = stopSignal().then(() => undefined);
  const folder = makeFolder();
  let child: ChildProcess | undefined;
  const clear = () => {
    child?.kill('SIGKILL');
    // The killed process may still be creating a file.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  const removeListeners = beforeEnd(clear);
  try {
    child = start({ ...request, folder }, isNetworkAllowed);
    const closed = once(child, 'close');
    const ended = endOf(child, closed);
    const end = await Promise.race([ended, stopped]);
    child.kill('SIGKILL');
    await closed;
    if (end === undefined) ended.catch(() => {});
    return end;
  } finally {
    removeListeners();
    clear();
  }
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'ringback-backtest-'));
  } catch (error) {
    throw ringbackError('backup_failed', { to: tmpdir(), cause: copyCause(error), fix: temporaryFix });
  }
}

function start(request: BacktestRequest, isNetworkAllowed: boolean): ChildProcess {
  const refusal = isNetworkAllowed ? [] : ['--import', threadFile('refuse-network', import.meta.url).href];
  const child = fork(threadFile('backtest-process', import.meta.url), [JSON.stringify(request)], {
    execArgv: [...process.execArgv, ...refusal],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // stdout is for the report, so the app's output goes to stderr.
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (text: Buffer) => process.stderr.write(text));
  return child;
}

/** Resolves to the process's message once all of its output has arrived. */
async function endOf(child: ChildProcess, closed: Promise<unknown[]>): Promise<BacktestEnd> {
  let end: BacktestEnd | undefined;
  child.once('message', (message) => {
    end = message as BacktestEnd;
  });
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  if (end) return end;
  const how = signal === null ? `with the exit code ${code}` : `by the signal ${signal}`;
  throw ringbackError('backtest_ended', { how });
}
