/** Secrets made up for the tests: base64 of "test-secret-one" and "test-secret-two". */
export const one = 'whsec_dGVzdC1zZWNyZXQtb25l';
export const two = 'whsec_dGVzdC1zZWNyZXQtdHdv';

/** The present of these tests, as seconds, milliseconds and text. */
export const seconds = 1_767_225_600;
export const now = seconds * 1_000;
export const iso = '2026-01-01T00:00:00.000Z';

export const minutes = 60_000;

/** A value as JavaScript would pass it, without its type. */
export const untyped = (value: unknown): ReturnType<typeof JSON.parse> => value;
