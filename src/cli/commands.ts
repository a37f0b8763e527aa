import { type Command, InvalidArgumentError } from 'commander';

/**
 * Adds a command to its parent. `exitWith` sets the exit code of a command that fails without an error; `args` are the
 * arguments after the command's own name.
 */
type Add = (
  parent: Command,
  exitWith: (code: number) => void,
  args: readonly string[],
) => void | Promise<void>;

/** Commands by name. Each is loaded only when needed: checking a signature needs neither receiver nor sandbox. */
export type Commands = Readonly<Record<string, () => Promise<Add>>>;

/** A command that only has subcommands, of which it loads the needed ones. */
export function group(name: string, description: string, commands: Commands): () => Promise<Add> {
  return async () => (program, exitWith, args) =>
    addWanted(program.command(name).description(description), commands, exitWith, args);
}

/**
 * Adds the command that the first argument names. Otherwise adds all of them in order, for the help and for suggestions
 * after a misspelled name.
 */
export async function addWanted(
  parent: Command,
  commands: Commands,
  exitWith: (code: number) => void,
  [name, ...args]: readonly string[],
): Promise<void> {
  const named = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  const wanted = named ? [named] : Object.values(commands);
  for (const add of await Promise.all(wanted.map((load) => load()))) await add(parent, exitWith, args);
  parent.commands.forEach(refuseEmptyValues);
  reportPlaceOfOptions(parent);
}

/**
 * Refuses empty values of options and arguments without a parser of their own: they mostly come from shell variables
 * that aren't set. Otherwise it would depend on what reads them how they are refused, and with which exit code.
 */
function refuseEmptyValues({ options, registeredArguments }: Command): void {
  for (const one of [
    ...options.filter(({ required, optional }) => required || optional),
    ...registeredArguments,
  ]) {
    if (one.parseArg !== undefined) continue;
    if (one.variadic)
      one.argParser((value, before: readonly string[] | undefined) => [...(before ?? []), given(value)]);
    else one.argParser(given);
  }
}

function given(value: string): string {
  if (value.trim() !== '') return value;
  throw new InvalidArgumentError('It should be text that is not empty.');
}

/**
 * Adds a hint to errors about unknown options: the option may belong to a subcommand. Called after all commands are
 * added, because commands added later would inherit it.
 */
function reportPlaceOfOptions(parent: Command): void {
  const before = parent.configureOutput();
  const hint = 'Put options after the command that they belong to.';
  parent.configureOutput({
    outputError: (text, write) =>
      before.outputError?.(
        /unknown option '[^']*'$/.test(text.trim()) ? `${text.trim()}. ${hint}` : text,
        write,
      ),
  });
}

/**
 * Rewrites `help inbox replay` as `inbox replay --help`, because Commander's own `help` reads only one word. A word
 * that names no command ends the arguments, so that it is the same mistake as without `help`.
 */
export function withHelpAsOption(program: Command, args: readonly string[]): readonly string[] {
  const names: string[] = [];
  let command = program;
  let isAsked = false;
  for (const word of args) {
    if (command.commands.length === 0 || word.startsWith('-')) break;
    if (word === 'help' && !isAsked) {
      isAsked = true;
      continue;
    }
    names.push(word);
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return isAsked ? names : args;
    command = next;
  }
  return isAsked ? [...names, '--help'] : args;
}
