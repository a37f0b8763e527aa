/** Starts a program that writes its log as JSON lines, and reads it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** One line of a log. */
export type Line = Readonly<Record<string, unknown>>;

/** The surroundings of a program; `env` is added to this process's environment. */
export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A program that runs. */
export type Program = ReturnType<typeof startProgram>;

/** Starts a program. The caller must call `kill` afterwards, however the test ends. */
export function startProgram(command: string, args: readonly string[], { cwd, env }: Surroundings) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  // What a program writes at its end may come after it has ended, and each output by itself.
  const closed = once(child, 'close');
  const seen: Line[] = [];
  // A text may come in pieces.
  let rest = '';
  const output = createInterface({ input: child.stdout });
  output.on('line', (text) => {
    if (text.startsWith('{')) seen.push(JSON.parse(text) as Line);
    else rest += `${text}\n`;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (rest += text));

  /** Resolves to what is found in what the program has written; rejects when it ends without it. */
  const until = <Found>(what: string, find: () => Found | undefined): Promise<Found> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = find();
        if (found !== undefined) resolve(found);
      };
      look();
      output.on('line', look);
      child.stderr.on('data', look);
      void closed.then(() => reject(new Error(`It ended before ${what}:\n${rest}`)));
    });

  /** The first line with one of these events. */
  const line = (...events: readonly string[]): Promise<Line> =>
    until(events.join(' or '), () => seen.find((entry) => events.includes(String(entry['event']))));

  /** All lines of an event, once there are this many. */
  const lines = (event: string, count: number): Promise<readonly Line[]> =>
    until(`${count} times ${event}`, () => {
      const found = seen.filter((entry) => entry['event'] === event);
      return found.length >= count ? found : undefined;
    });

  /** Resolves when this text has been written outside of the log. */
  const written = async (text: string): Promise<void> => {
    await until(`it wrote "${text}"`, () => rest.includes(text) || undefined);
  };

  return {
    line,
    lines,
    /** Asks the program to end, and resolves to its exit code. */
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
    /** Resolves to the program's exit code once it has ended by itself. */
    ended: () => exited,
    /** Kills the program if it still runs, and waits until it has ended. */
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    /** Everything so far that is not a line of the log. */
    text: () => rest,
    written,
  };
}
