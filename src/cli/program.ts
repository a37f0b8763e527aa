import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { addDemo } from './demo.ts';
import { addDoctor } from './doctor.ts';
import { exitCodes, explain } from './failure.ts';
import { addSandbox } from './sandbox.ts';
import { addSend } from './send.ts';
import { addServe } from './serve.ts';
import { addSignature } from './signature.ts';

/** Runs the command with its arguments, program name not included. Resolves to the exit code; never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  // What a command exits with when it neither succeeds nor fails: a delivery that was refused.
  let exitCode: number = exitCodes.success;
  const program = buildProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has said what there is to say: what was wrong, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    return explain(error);
  }
}

function buildProgram(exitWith: (code: number) => void): Command {
  const program = new Command('ringback')
    .description('Receives the call events of a voice-AI platform: verified, stored, answered, and handled.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(
          `${text
            .replace(/^error: /, 'ringback: ')
            .trim()
            .replaceAll('\n', ' ')}\n`,
        ),
    });
  addServe(program);
  addSend(program, exitWith);
  addSignature(program, exitWith);
  addDoctor(program, exitWith);
  addSandbox(program);
  addDemo(program);
  return program;
}

/** The version in package.json, which is two folders up from the sources and from what is built of them. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
