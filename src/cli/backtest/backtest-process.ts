/**
 * The process in which a backtest runs the app, so that nothing that the app does can keep the command from removing
 * the copy. The app's output goes to stderr, the report to the command.
 */
import { rmSync } from 'node:fs';
import { explain } from '../failure.ts';
import { keepConsoleOffStdout, remark } from '../stderr.ts';
import { type BacktestReport, type BacktestRequest, backtest } from './backtest.ts';

/** What it sends to the command at the end: the report, or the exit code of a problem that it has explained. */
export type BacktestEnd = { readonly report: BacktestReport } | { readonly exitCode: number };

const request = JSON.parse(process.argv[2] ?? '') as BacktestRequest;
let current: string | undefined;
const send = process.send?.bind(process);
// A message from the app to its parent, such as that it is ready, would be taken for the report.
delete process.send;

// The command handles these; a terminal sends them to both processes.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
// The command was killed and can't remove the copy.
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
// Resources that the app left open must not keep the process alive.
process.exit('report' in end ? 0 : end.exitCode);
