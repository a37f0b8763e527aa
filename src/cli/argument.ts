import { InvalidArgumentError } from 'commander';

/** Reads an argument, or says in a usage error what it should be. */
export function argument<T>(
  expectation: string,
  read: (value: unknown) => T | undefined,
): (value: string) => T {
  return (value) => {
    const result = read(value);
    if (result === undefined) throw new InvalidArgumentError(`It should be ${expectation}.`);
    return result;
  };
}
