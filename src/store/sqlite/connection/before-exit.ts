const actions = new Set<() => void>();

/**
 * Calls the action when the process ends because nothing is left to do, but not when it is killed or calls
 * `process.exit`. Returns the function that cancels this. One listener serves all, because Node warns of many.
 */
export function beforeExit(action: () => void): () => void {
  if (actions.size === 0) process.on('beforeExit', runAll);
  actions.add(action);
  return () => {
    actions.delete(action);
    if (actions.size === 0) process.off('beforeExit', runAll);
  };
}

function runAll(): void {
  for (const action of actions) action();
}
