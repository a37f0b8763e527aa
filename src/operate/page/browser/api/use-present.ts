import { useEffect, useReducer, useRef } from 'preact/hooks';
import { watch } from './changes.ts';

/**
 * A value that depends on the present time. When it has become another, only this component is drawn again: a whole view
 * may hold a body of megabytes.
 */
export function usePresent<T extends string | number | boolean>(valueNow: () => T): T {
  const [, drawAgain] = useReducer<number, void>((count) => count + 1, 0);
  const value = valueNow();
  const shown = useRef({ value, valueNow });
  shown.current = { value, valueNow };
  useEffect(
    () =>
      // This topic is reported every few seconds, even if nothing has changed.
      watch(['history'], () => {
        if (shown.current.valueNow() !== shown.current.value) drawAgain();
      }),
    [],
  );
  return value;
}
