import type { Command } from 'commander';
import { addDetect } from './signature/detect.ts';
import { addSign } from './signature/sign.ts';
import { addUnpin } from './signature/unpin.ts';
import { addVerify } from './signature/verify.ts';

/** Adds `ringback signature` with its four commands. */
export function addSignature(program: Command, exitWith: (code: number) => void): void {
  const signature = program
    .command('signature')
    .description('find out how deliveries are signed, sign, and verify');
  addDetect(signature, exitWith);
  addSign(signature);
  addVerify(signature, exitWith);
  addUnpin(signature);
}
