/**
 * Keeps how far each entry of the browser's history was scrolled. The browser can't: when it goes back, the view is
 * still to be loaded, and not yet as long as it was.
 */

/** By the key of the entry. */
const places = new Map<string, number>();
let entry = '';
let view = '';
let made = 0;
let returning: AbortController | undefined;

/** Call it before the page is drawn: it must hear of another route while the former view is still there. */
export function keepPlaces(): void {
  history.scrollRestoration = 'manual';
  follow();
  addEventListener('hashchange', () => {
    // A view that is left before it is as long as it was keeps its place.
    if (returning?.signal.aborted !== false) places.set(entry, scrollY);
    follow();
  });
}

/** Goes to where the present entry was, or to the top of a view that is new. */
function follow(): void {
  returning?.abort();
  const [before, known] = [view, keyInHistory()];
  entry = known ?? newKey();
  view = location.hash.replace(/\?.*/s, '');
  const place = known === undefined ? undefined : places.get(known);
  if (place !== undefined) returning = returnTo(place);
  else if (view !== before) scrollTo(0, 0);
}

function keyInHistory(): string | undefined {
  const state: unknown = history.state;
  return typeof state === 'string' ? state : undefined;
}

/** A key that no entry has from before the page was loaded again. */
function newKey(): string {
  made += 1;
  const key = `${performance.timeOrigin} ${made}`;
  history.replaceState(key, '');
  return key;
}

/** Scrolls there as soon as the view is long enough, unless the viewer does something first, or this is aborted. */
function returnTo(place: number): AbortController {
  const over = new AbortController();
  const growth = new ResizeObserver(() => {
    scrollTo(0, place);
    if (Math.abs(scrollY - place) < 1 && !document.querySelector('main .loading')) over.abort();
  });
  const { signal } = over;
  signal.addEventListener('abort', () => growth.disconnect());
  for (const name of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(name, () => over.abort(), { signal, passive: true });
  growth.observe(document.body);
  return over;
}
