import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The narrowest that something is drawn: below, it is scrolled. */
const narrowest = 300;

/**
 * The width of an element, so that a drawing can be made for it: a scaled one would have unreadable texts in a narrow
 * window. The element must have no content, or a new height would count as a change during the change.
 */
export function useWidth(): readonly [RefObject<HTMLDivElement | null>, number] {
  const ruler = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(960);
  useLayoutEffect(() => {
    const element = ruler.current;
    if (!element) return undefined;
    const measure = () => setWidth(Math.max(narrowest, Math.floor(element.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ruler, width];
}
