/** Says what became of a change, to eyes and to screen readers. */
import { useEffect, useState } from 'preact/hooks';

let show: (text: string) => void = () => {};

const nothing = { text: '', place: '' };

/** Says something until the viewer goes on from here or something else is said. */
export function say(text: string): void {
  show(text);
}

export function Notice() {
  const [{ text }, setSaid] = useState(nothing);
  useEffect(() => {
    show = (said) => setSaid({ text: said, place: location.hash });
    // Of the way to where something was said, the browser tells afterwards.
    const clear = () => setSaid((said) => (said.place === location.hash ? said : nothing));
    addEventListener('hashchange', clear);
    return () => removeEventListener('hashchange', clear);
  }, []);
  return (
    <div class="notice" role="status">
      {text !== '' && (
        <p>
          <span dir="auto">{text}</span>
          <button type="button" aria-label="Close this message" onClick={() => setSaid(nothing)}>
            ×
          </button>
        </p>
      )}
    </div>
  );
}
