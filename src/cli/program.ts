import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { type Commands, addWanted, withHelpAsOption } from './commands.ts';
import { exitCodes, explain } from './failure.ts';
import { withoutValues } from './stderr.ts';

const versionFlag = '--version';

const commands: Commands = {
  serve: async () => (await import('./serve.ts')).addServe,
  page: async () => (await import('./page.ts')).addPage,
  send: async () => (await import('./send.ts')).addSend,
  signature: async () => (await import('./signature.ts')).addSignature,
  inbox: async () => (await import('./inbox.ts')).addInbox,
  backtest: async () => (await import('./backtest.ts')).addBacktest,
  backup: async () => (await import('./backup.ts')).addBackup,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
  demo: async () => (await import('./demo.ts')).addDemo,
};

/** Runs the command with its arguments, program name not included. Resolves to the exit code; never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  // Changed by a command that throws no error, but did not succeed, such as after a delivery that was refused.
  let exitCode: number = exitCodes.success;
  const exitWith = (code: number): void => {
    exitCode = code;
  };
  try {
    const program = buildProgram();
    await addWanted(program, args[0] === versionFlag ? {} : commands, exitWith, args);
    await program.parseAsync([...withHelpAsOption(program, args)], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already printed what was wrong, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    return explain(error);
  }
}

function buildProgram(): Command {
  const program = new Command('ringback');
  return program
    .description('Receives the call events of a voice-AI platform: verified, stored, answered, and handled.')
    .version(packageVersion(), `-V, ${versionFlag}`, 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command...]', 'print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(
          `${withoutValues(forSwitch(program, text.trim()))
            .replace(/^error: /, 'ringback: ')
            .replace(
              /(?:unknown command|missing required argument) '\S*'(?!.*Did you mean)|missing the option .*|required option .* not specified/s,
              '$&. See --help.',
            )
            .trim()
            .replaceAll('\n', ' ')}\n`,
        ),
    });
}

/** A known option is not unknown because a value was given that it doesn't take. */
function forSwitch(program: Command, usageError: string): string {
  return usageError.replace(/^error: unknown option '(--[a-z-]+)=.*$/s, (whole, name: string) =>
    hasSwitch(program, name) ? `error: the option '${name}' takes no value` : whole,
  );
}

function hasSwitch({ options, commands: below }: Command, name: string): boolean {
  return (
    options.some((option) => option.long === name && option.isBoolean()) ||
    below.some((command) => hasSwitch(command, name))
  );
}

/** The version in package.json, which is two folders up both from the sources and from the built files. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
