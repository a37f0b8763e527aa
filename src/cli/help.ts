import type { Command } from 'commander';

/**
 * The arguments as Commander is to read them: `help inbox replay` as `inbox replay --help`, because its own `help` looks
 * at one word. A word that names no command ends them, so that it is the same mistake as without `help`.
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
