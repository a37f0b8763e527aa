import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { syncTimes } from './disk.ts';

/** The machine, its disk's speed, Node and the day of the figures, which hold for no other. */
export function measuredOn(): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? 'unknown'}`;
  const { p50, p99 } = syncTimes();
  return (
    `Node ${process.version}, ${machine}, ${process.platform}, ${new Date().toISOString().slice(0, 10)}; ` +
    `a sync of this disk takes ${p50.toFixed(2)} ms (p99 ${p99.toFixed(2)} ms).`
  );
}

/** Lines of a markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line), ''];
}

/** The middle value; NaN if there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Prints the progress of a long measurement on stderr. */
export function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

/** Prints results, and writes them to a file of this folder if one is given. */
export function publish(lines: readonly string[], file?: string): void {
  const text = `${lines.join('\n').trimEnd()}\n`;
  process.stdout.write(text);
  if (file !== undefined) writeFileSync(fileURLToPath(new URL(`./${file}`, import.meta.url)), text);
}
