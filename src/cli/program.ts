import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { type Commands, addWanted, group, withHelpAsOption } from './commands.ts';
import { exitCodes, explain } from './failure.ts';
import { withoutValues } from './stderr.ts';

const versionFlag = '--version';

const signatureCommands: Commands = {
  detect: async () => (await import('./signature/detect.ts')).addDetect,
  sign: async () => (await import('./signature/sign.ts')).addSign,
  verify: async () => (await import('./signature/verify.ts')).addVerify,
  unpin: async () => (await import('./signature/unpin.ts')).addUnpin,
};

const inboxCommands: Commands = {
  counts: async () => (await import('./inbox/events.ts')).addCounts,
  events: async () => (await import('./inbox/events.ts')).addEvents,
  event: async () => (await import('./inbox/events.ts')).addEvent,
  replay: async () => (await import('./inbox/replay.ts')).addReplay,
  dismiss: async () => (await import('./inbox/dismiss.ts')).addDismiss,
  failures: async () => (await import('./inbox/failures.ts')).addFailures,
  mute: async () => (await import('./inbox/failures.ts')).addMute,
  unmute: async () => (await import('./inbox/failures.ts')).addUnmute,
  handlers: async () => (await import('./inbox/handlers.ts')).addHandlers,
  pause: async () => (await import('./inbox/handlers.ts')).addPause,
  resume: async () => (await import('./inbox/handlers.ts')).addResume,
  calls: async () => (await import('./inbox/calls.ts')).addCalls,
  call: async () => (await import('./inbox/calls.ts')).addCall,
  drift: async () => (await import('./inbox/events.ts')).addDrift,
  quarantine: async () => (await import('./inbox/quarantine.ts')).addQuarantine,
  delivery: async () => (await import('./inbox/quarantine.ts')).addDelivery,
  reverify: async () => (await import('./inbox/release.ts')).addReverify,
  release: async () => (await import('./inbox/release.ts')).addRelease,
  discard: async () => (await import('./inbox/quarantine.ts')).addDiscard,
  alerts: async () => (await import('./inbox/alerts.ts')).addAlerts,
  stop: async () => (await import('./inbox/audit.ts')).addStop,
  audit: async () => (await import('./inbox/audit.ts')).addAudit,
  history: async () => (await import('./inbox/history.ts')).addHistory,
  move: async () => (await import('./inbox/move.ts')).addMove,
  erase: async () => (await import('./inbox/erase.ts')).addErase,
};

const commands: Commands = {
  serve: async () => (await import('./serve.ts')).addServe,
  page: async () => (await import('./page.ts')).addPage,
  send: async () => (await import('./send.ts')).addSend,
  signature: group(
    'signature',
    'detect how deliveries are signed, sign and verify them, and unpin a scheme',
    signatureCommands,
  ),
  inbox: group(
    'inbox',
    'inspect the inbox, see why a run failed, replay events, dismiss runs, pause handlers, and erase data',
    inboxCommands,
  ),
  backtest: async () => (await import('./backtest.ts')).addBacktest,
  backup: async () => (await import('./backup.ts')).addBackup,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
  demo: async () => (await import('./demo.ts')).addDemo,
};

/** Runs the command with the arguments after the program's name. Resolves to the exit code; never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  // Set by a command that fails without an error, for example after a refused delivery.
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
    // Commander has already printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    return explain(error);
  }
}

function buildProgram(): Command {
  const program = new Command('ringback');
  return program
    .description(
      'Receives the call events of a voice-AI platform: verifies and stores them, answers, and runs handlers.',
    )
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

/** Reports a value for an option that takes none, which Commander would call an unknown option. */
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

/** The version in package.json, two folders up from both the sources and the built files. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
