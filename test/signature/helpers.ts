export { secret as one, otherSecret as two } from '../support/deliveries.ts';

/** The present of these tests, as seconds, milliseconds and text. */
export const seconds = 1_767_225_600;
export const now = seconds * 1_000;
export const iso = '2026-01-01T00:00:00.000Z';

export const minutes = 60_000;

/** A scheme that has no name. */
export const unnamed = {
  header: 'x-other-signature',
  syntax: 'bare',
  content: '{timestamp}:{body}',
  encoding: 'base64',
  hash: 'sha512',
  key: 'suffix',
} as const;

/** A value as JavaScript would pass it, without its type. */
export const untyped = (value: unknown): ReturnType<typeof JSON.parse> => value;
