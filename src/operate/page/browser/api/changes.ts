/** When to ask again: the receiver reports changes, and the page polls while it can't. */

/** The interval of polling, in milliseconds. */
const pollPause = 5_000;
/**
 * After how long without a message a connection counts as lost, in milliseconds; the receiver sends one every five
 * seconds. A computer that slept, or a router that dropped the connection, leaves it open but dead.
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

/** Starts to follow changes, once the viewer has been let in. */
export function followChanges(): void {
  isFollowing = true;
  restart();
}

/** Calls the listener when one of the topics may have changed. Returns a function that ends this. */
export function watch(topics: readonly string[], listener: Listener): Listener {
  const entry = { topics, listener };
  watches.add(entry);
  return () => void watches.delete(entry);
}

/** Calls the listeners of the topics; without topics, all listeners. */
export function changed(topics?: readonly string[]): void {
  for (const { topics: wanted, listener } of watches)
    if (!topics || topics.some((topic) => wanted.includes(topic))) listener();
}

/** Calls the listeners of all topics, not those without one: they ask for what takes long and seldom changes. */
function listsChanged(): void {
  changed([...watches].flatMap(({ topics }) => topics));
}

// A hidden page doesn't ask; as soon as it is visible it is brought up to date.
document.addEventListener('visibilitychange', () => {
  restart();
  if (!document.hidden) changed();
});

function restart(): void {
  stop?.();
  stop = document.hidden || !isFollowing ? undefined : listen();
}

function poll(): Listener {
  const timer = setInterval(listsChanged, pollPause);
  return () => clearInterval(timer);
}

function listen(): Listener {
  const source = new EventSource('api/changes');
  let stopPolling: Listener | undefined;
  let isLost = false;
  const lost = () => {
    restart();
    listsChanged();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(lost, maxSilence);
  };
  restartTimer();
  source.addEventListener('changed', ({ data }: MessageEvent<string>) => {
    restartTimer();
    changed((JSON.parse(data) as { readonly topics: readonly string[] }).topics);
  });
  source.addEventListener('error', () => {
    isLost = true;
    // The browser reconnects by itself unless it was refused.
    if (source.readyState === EventSource.CLOSED) stopPolling ??= poll();
    // The viewer must see that the receiver doesn't answer, or what the stream has missed.
    listsChanged();
  });
  source.addEventListener('open', () => {
    restartTimer();
    if (isLost) changed();
    isLost = false;
  });
  return () => {
    clearTimeout(timer);
    source.close();
    stopPolling?.();
  };
}
