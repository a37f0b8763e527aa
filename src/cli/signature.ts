import type { Command } from 'commander';
import { type Commands, addWanted } from './commands.ts';

const commands: Commands = {
  detect: async () => (await import('./signature/detect.ts')).addDetect,
  sign: async () => (await import('./signature/sign.ts')).addSign,
  verify: async () => (await import('./signature/verify.ts')).addVerify,
  unpin: async () => (await import('./signature/unpin.ts')).addUnpin,
};

/** Adds `ringback signature` with its four commands. */
export async function addSignature(
  program: Command,
  exitWith: (code: number) => void,
  args: readonly string[],
): Promise<void> {
  const signature = program
    .command('signature')
    .description('find out how deliveries are signed, sign, and verify');
  await addWanted(signature, commands, exitWith, args);
}
