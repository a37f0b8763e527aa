import { inject } from 'vitest';

/** What the setup of all tests has made ready, once it is: a path, or nothing for the page. */
export async function prepared(what: '/page' | '/browser' | '/package'): Promise<string> {
  const response = await fetch(`${inject('preparedDoor')}${what}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
