/** What every store must do with searches that nobody waits for any more. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { eventOf, record } from '../parts.ts';

/** Runs this part of the suite. */
export function describeLooking(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: looking`, () => {
    test.each<[string, (store: Store, signal: AbortSignal) => Promise<unknown>]>([
      ['events', ({ events }, signal) => events.list({}, { limit: 10, signal })],
      ['calls', ({ calls }, signal) => calls.list({ limit: 10, signal })],
    ])('a search for %s ends by its signal, with its reason', async (_, search) => {
      const store = await opened();
      await record(store, eventOf('trace-1', { callId: 'call-1' }));
      await expect(search(store, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
      await expect(search(store, new AbortController().signal)).resolves.toBeDefined();
    });
  });
}
