import { Argument } from 'commander';
import { argument } from '../argument.ts';

/** What the id of a delivery in quarantine should be, in the words of an error. */
const expectation = 'the id of a delivery in quarantine, as ringback inbox quarantine prints it';

/** Reads an id, or says in a usage error what it should be. */
export const readDeliveryId = argument(expectation, (value) =>
  typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined,
);

/** The argument for the id of a delivery in quarantine. */
export function deliveryIdArgument(): Argument {
  return new Argument('<id>', 'its number, as `ringback inbox quarantine` prints it').argParser(
    readDeliveryId,
  );
}
