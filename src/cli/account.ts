/** Who uses the command, as the audit list keeps it. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Account } from '../operate/audit.ts';

export function takesBy(command: Command, description: string): Command {
  return command.option('--by <who>', `${description} (default: the user of the system)`);
}

/** Adds the options that the audit list stores with a change. */
export function takesAccount(command: Command): Command {
  return takesBy(command, 'who does it; stored in the audit list').option(
    '--reason <text>',
    'why; stored in the audit list',
  );
}

export function accountOf({ by, reason }: Account): Account & { readonly by: string } {
  return { by: by ?? systemUser(), reason };
}

/** A container may run as a user that has no name there. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
