/** Adds `count` secrets to a secrets file, one after the other; says so, or why the file was refused. */
import { RingbackError } from '../../src/errors/errors.ts';
import { type Clock, systemClock } from '../../src/kit/clock.ts';
import { SecretFile } from '../../src/platform/secrets/secret-file.ts';

/** The lock is waited for until it is free: of processes that write without a pause, one may not get it for ten seconds. */
const stoppedClock: Clock = { ...systemClock, elapsed: () => 0 };

const { file, name, count } = JSON.parse(process.argv[2] ?? '') as {
  readonly file: string;
  readonly name: string;
  readonly count: number;
};
process.stdout.write('{"asks":true}\n');
try {
  for (let number = 0; number < count; number += 1) {
    const secretFile = await SecretFile.open(file, stoppedClock);
    const subscriptionId = `${name}-${number}`;
    await secretFile.write(
      { subscriptionId, secret: `whsec_${subscriptionId}`, previousExpiresAt: undefined },
      Date.now(),
    );
  }
  process.stdout.write('{"written":true}\n');
} catch (error) {
  if (!(error instanceof RingbackError)) throw error;
  process.stdout.write(`${JSON.stringify({ refused: error.code, message: error.message })}\n`);
}
