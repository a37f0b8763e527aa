/** When to ask again: the receiver says what has changed; while it can't, it is asked every few seconds. */

/** How long until an answer is asked for again, in milliseconds. */
const pollPause = 5_000;
/**
 * After how long without a word a connection counts as lost, in milliseconds: the receiver says something every five seconds.
 * A computer that has slept, or a router that has forgotten it, leaves a connection that nothing comes from and that never ends.
 */
const maxSilence = 20_000;

type Listener = () => void;

interface Watch {
  readonly topics: readonly string[];
  readonly listener: Listener;
}

const watches = new Set<Watch>();
let stop: Listener | undefined;
let isFollowing = false;

/** From now on what has changed is followed: whoever looks has been let in. */
export function followChanges(): void {
  isFollowing = true;
  restart();
}

/** Calls the listener when one of the topics may have changed. Returns what ends that. */
export function watch(topics: readonly string[], listener: Listener): Listener {
  const entry = { topics, listener };
  watches.add(entry);
  return () => void watches.delete(entry);
}

/** Lets everything be asked for again, after a change that was made here. */
export function changed(topics?: readonly string[]): void {
  for (const { topics: wanted, listener } of watches)
    if (!topics || topics.some((topic) => wanted.includes(topic))) listener();
}

// A page that nobody sees asks nothing; as soon as it is seen it shows what is.
document.addEventListener('visibilitychange', () => {
  restart();
  if (!document.hidden) changed();
});

function restart(): void {
  stop?.();
  stop = document.hidden || !isFollowing ? undefined : listen();
}

function poll(): Listener {
  const timer = setInterval(() => changed(), pollPause);
  return () => clearInterval(timer);
}

function listen(): Listener {
  const source = new EventSource('api/changes');
  let stopPolling: Listener | undefined;
  let isLost = false;
  const lost = () => {
    restart();
    changed();
  };
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(lost, maxSilence);
  };
  heard();
  source.addEventListener('changed', ({ data }: MessageEvent<string>) => {
    heard();
    changed((JSON.parse(data) as { readonly topics: readonly string[] }).topics);
  });
  source.addEventListener('error', () => {
    isLost = true;
    // The browser connects again by itself unless it was refused.
    if (source.readyState === EventSource.CLOSED) stopPolling ??= poll();
    // Whoever looks must see that the receiver does not answer, or what it has not told.
    changed();
  });
  source.addEventListener('open', () => {
    heard();
    if (isLost) changed();
    isLost = false;
  });
  return () => {
    clearTimeout(silence);
    source.close();
    stopPolling?.();
  };
}
