import { describe, expect, it } from 'vitest';
import { hosted } from '../cli/hosted.ts';
import { literal, root, tableRows } from './documents.ts';
import { environmentVariables } from './sources.ts';

const document = 'docs/command.md';

/** The help of every command, by its words. */
const helps = new Map<string, string>();
/** The words of every command that does something. */
const commands = await commandsBelow();

describe('the documents and the command', () => {
  it('have the same sub-commands', () => {
    const documented = tableRows(document, 'command', 'what it does').map((row) => literal(row[0]) ?? '');
    expect(documented.sort()).toEqual(commands.map((name) => `ringback ${name}`).sort());
  });

  it.each(commands)('have the same options of %s', (command) => {
    const documented = tableRows(document, `option of \`${command}\``).map((row) => literal(row[0]));
    const actual = optionsOf(command);
    expect(documented.filter((name) => name !== undefined).sort()).toEqual(actual.sort());
  });

  it.each(commands)('name the variables that the options of %s come from', (command) => {
    const rows = tableRows(document, `option of \`${command}\``);
    for (const text of helpOf(command).split(/^ {2}(?=-)/m)) {
      const row = rows.find(([option]) => text.startsWith(`${literal(option)} `))?.join(' ') ?? '';
      const said = namesIn(text.split('\n\n', 1)[0] ?? '', /(RINGBACK_\w+)/g);
      if (!row.includes('as above')) for (const variable of said) expect(row).toContain(`\`${variable}\``);
    }
  });

  it('have the same variables of the environment', () => {
    const documented = ['serve', 'doctor'].flatMap((command) =>
      tableRows(document, `option of \`${command}\``, 'variable').flatMap((row) => literal(row[1]) ?? []),
    );
    expect([...new Set(documented)].sort()).toEqual(environmentVariables());
  });

  it('give the defaults that the command says', () => {
    const help = helpOf('serve').replaceAll(/\s+/g, ' ');
    const said = new Map(
      [...help.matchAll(/(RINGBACK_\w+); default: ([^)]+)\)/g)].map(([, name, value]) => [name, value]),
    );
    const rows = tableRows(document, 'option of `serve`').filter((row) => said.has(literal(row[1])));
    expect(rows.map((row) => [literal(row[1]), literal(row[2])])).toEqual([...said]);
    expect(said.size).toBeGreaterThan(0);
  });
});

function helpOf(command: string): string {
  return helps.get(command) ?? '';
}

/** Asks the command for its help; a command with sub-commands does nothing itself. */
async function commandsBelow(...above: readonly string[]): Promise<string[]> {
  const { stdout } = await hosted({ args: [...above, '--help'], env: process.env, cwd: root });
  helps.set(above.join(' '), stdout);
  const [, list = ''] = stdout.split('\nCommands:\n');
  const below: string[] = [];
  for (const name of namesIn(list, /^ {2}([a-z]+)(?: |$)/gm))
    if (name !== 'help') below.push(...(await commandsBelow(...above, name)));
  return below.length === 0 ? [above.join(' ')] : below;
}

function optionsOf(command: string): string[] {
  return namesIn(helpOf(command), /^ {2}(?:-\w, )?(--[a-z-]+)/gm).filter((name) => name !== '--help');
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}
