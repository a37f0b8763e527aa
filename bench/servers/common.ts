import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LayoutName } from '../../src/index.ts';

/** Made up for the benchmark. */
export const secret = 'whsec_YmVuY2htYXJrLXNlY3JldC1vZi0zMi1ieXRlcy0hIQ==';
/** What comparable libraries sign: the hex digest of the body under the whole secret. */
export const layout: LayoutName = 'sha256-hex-whole';

/** What a server tells of itself when asked. */
export interface ServerReport {
  /** Rows that are stored, and how many of them are handled and marked done; -1 where nothing is stored. */
  readonly stored: number;
  readonly done: number;
  /** The longest stall of the event loop, in milliseconds. */
  readonly stall: number;
  /** Resident memory, in megabytes. */
  readonly memory: number;
}

const nothingStored = () => Promise.resolve({ stored: -1, done: -1 });

/** Listens on a port of the system's choosing, says it, and answers questions until told to end. */
export function serve(
  server: Server,
  counts: () => Promise<{ stored: number; done: number }> = nothingStored,
): void {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const report = async (): Promise<void> => {
    const memory = process.memoryUsage().rss / 2 ** 20;
    const told: ServerReport = { ...(await counts()), stall: delay.max / 1e6, memory };
    process.send?.(told);
    delay.reset();
  };
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('message', (question) => {
    if (question === 'end') process.exit(0);
    void report();
  });
}
