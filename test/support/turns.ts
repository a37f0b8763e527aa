/** How often the event loop turns until a promise has settled. */
export async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await work;
  clearImmediate(next);
  return turns;
}
