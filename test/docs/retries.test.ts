import { expect, it } from 'vitest';
import { backoffAfter } from '../../src/kit/duration.ts';
import { type RetryOptions, resolveOptions } from '../../src/receiver/options.ts';
import { literal, read, tableRows } from './documents.ts';

const rows = tableRows('docs/states.md', '`retry`', 'at most', 'on average');

it('the documents say how long the retries of a run last', () => {
  const computed = rows.map(([retry = '']) => [retry, ...lengths(policyOf(retry))]);
  expect(rows).toEqual(computed);
  const [[, longest, average] = []] = computed;
  const sentence = `take at most ${longest}, and ${average} on average`.replaceAll(' min', ' minutes');
  expect(read('docs/options.md').replaceAll(/\s+/g, ' ')).toContain(sentence);
});

function policyOf(cell: string) {
  const json = literal(cell)?.replaceAll(/(\w+):/g, '"$1":') ?? '';
  const retry: RetryOptions = JSON.parse(json);
  return resolveOptions({ secrets: 'whsec_ZG9jcw==', retry }).retry;
}

/** How long the waits take together: at most, on average, and what all but one run in a thousand exceed. */
function lengths(policy: ReturnType<typeof policyOf>): string[] {
  const waits = Array.from({ length: policy.attempts - 1 }, (_, index) => index + 1);
  const total = (random: () => number) =>
    waits.reduce((sum, attempt) => sum + backoffAfter(attempt, policy, random), 0);
  const random = repeatable();
  const drawn = Array.from({ length: 20_000 }, () => total(random)).sort((a, b) => a - b);
  return [text(total(() => 1)), text(total(() => 0.5)), text(drawn[20] ?? 0)];
}

function text(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  return minutes < 120 ? `${Math.floor(minutes)} min` : `${Math.floor(minutes / 60)} h`;
}

/** The same numbers in every run of the test. */
function repeatable(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
