/** The known name closest to a misspelled one; undefined if more than `limit` letters differ. */
export function closest(
  name: string,
  known: readonly string[],
  limit = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    // At least as many letters differ as the lengths do. Otherwise a name of 60 kB in a request would block the thread.
    if (Math.abs(name.length - candidate.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** How many letters differ; two swapped neighbours count as one. */
function editDistance(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const substitution = (last[column - 1] ?? 0) + (isSame ? 0 : 1);
      const step = Math.min(last[column] ?? 0, current[column - 1] ?? 0) + 1;
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const swap = isSwap ? (beforeLast[column - 2] ?? Infinity) + 1 : Infinity;
      current.push(Math.min(substitution, step, swap));
    }
    [beforeLast, last] = [last, current];
  }
  return last[right.length] ?? 0;
}
