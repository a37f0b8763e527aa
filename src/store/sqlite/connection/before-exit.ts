const actions = new Set<() => void>();

/**
 * Calls the action when the process ends because nothing is left to do; one that is killed or calls `process.exit`
 * doesn't get there. Returns the function that takes the action back. One listener serves all: Node warns of many.
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
