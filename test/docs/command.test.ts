import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { literal, root, tableRows } from './documents.ts';
import { environmentVariables } from './sources.ts';

const document = 'docs/command.md';

describe('the documents and the command', () => {
  const commands = commandsBelow();

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
    for (const text of helpOf(...command.split(' ')).split(/^ {2}(?=-)/m)) {
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

function helpOf(...command: readonly string[]): string {
  const main = join(root, 'src/cli/main.ts');
  return execFileSync(process.execPath, [main, ...command, '--help'], { encoding: 'utf8' });
}

/** The words of every command that does something; a command with sub-commands does nothing itself. */
function commandsBelow(...above: readonly string[]): string[] {
  const [, list = ''] = helpOf(...above).split('\nCommands:\n');
  const names = namesIn(list, /^ {2}([a-z]+)(?: |$)/gm).filter((name) => name !== 'help');
  return names.length === 0 ? [above.join(' ')] : names.flatMap((name) => commandsBelow(...above, name));
}

function optionsOf(command: string): string[] {
  return namesIn(helpOf(...command.split(' ')), /^ {2}(?:-\w, )?(--[a-z-]+)/gm).filter(
    (name) => name !== '--help',
  );
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}
