/** The view and its filter are in the address after `#`, so that any mount path works. */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  /** The segments of the path, decoded. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export function linkTo(
  path: readonly (string | number)[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(given).toString();
  const segments = path.map((segment) => encodeURIComponent(segment)).join('/');
  return `#/${segments}${search === '' ? '' : `?${search}`}`;
}

export function goTo(
  path: readonly (string | number)[],
  query: Readonly<Record<string, string | undefined>> = {},
): void {
  location.hash = linkTo(path, query);
}

/** Replaces this route by another one: going back here would only lead forward again. */
export function goOn(path: readonly (string | number)[]): void {
  location.replace(linkTo(path));
}

/** Writes values into the address, so that they are still there when the page is loaded again. Nothing else changes. */
export function keepInAddress(
  path: readonly (string | number)[],
  query: Readonly<Record<string, string | undefined>>,
): void {
  history.replaceState(history.state, '', linkTo(path, query));
}

/** The route that the address names; the overview if it can't be decoded. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    // Another route even if it reads the same: what was kept in the address since is no longer in it.
    const follow = () => setRoute(routeOf(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

function routeOf(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  try {
    const segments = path.split('/').filter((segment) => segment !== '');
    return {
      path: segments.map((segment) => decodeURIComponent(segment)),
      query: Object.fromEntries(new URLSearchParams(search)),
    };
  } catch {
    return { path: [], query: {} };
  }
}
