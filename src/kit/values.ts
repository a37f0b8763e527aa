/** The fields of an object that are set: undefined counts as not set. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>;
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Whether a value is an object, of whatever kind. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The fields of what may be an object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** What is at a path in a value; undefined if there is nothing. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => fieldsOf(inner)[String(key)], value);
}

/** Whether a function has returned something to wait for: a promise of any implementation. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
