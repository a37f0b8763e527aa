/**
 * The process in which a backtest runs the app: nothing that the app does to its process keeps the command from removing the
 * copy. What it prints goes to stderr, and the report to the command.
 */
import { rmSync } from 'node:fs';
import { explain } from '../failure.ts';
import { keepConsoleOffStdout, remark } from '../stderr.ts';
import { type BacktestReport, type BacktestRequest, backtest } from './backtest.ts';

/** What it tells the command at its end: the report, or the exit code of a problem that it has explained. */
export type BacktestEnd = { readonly report: BacktestReport } | { readonly exitCode: number };

const request = JSON.parse(process.argv[2] ?? '') as BacktestRequest;
let current: string | undefined;
const send = process.send?.bind(process);
// Whatever the app tells the process that has started it, such as that it is ready, would be taken for the report.
delete process.send;

// The command decides about these, which a terminal sends to both.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
// The command was killed, and can't remove the copy any more.
process.once('disconnect', () => {
  rmSync(request.folder, { recursive: true, force: true });
  process.exit(1);
});
process.once('exit', () => {
  if (current !== undefined) remark(`the process ended while ${current}`);
});

keepConsoleOffStdout();
const end = await backtest(request, (handler, traceId) => {
  current = `the handler ${handler} ran for the event ${traceId}`;
}).then(
  (report): BacktestEnd => ({ report }),
  (error: unknown): BacktestEnd => ({ exitCode: explain(error) }),
);
current = undefined;
await new Promise((resolve) => send?.(end, resolve));
// Whatever the app has left open must not keep the process alive.
process.exit('report' in end ? 0 : end.exitCode);
