import { InvalidArgumentError } from 'commander';

/** Makes a parser of an argument, whose usage error says what the argument should be. */
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
