/** Shows the result of a change, to screen readers as well. */
import { useEffect, useState } from 'preact/hooks';

let show: (text: string) => void = () => {};

const nothing = { text: '', route: '' };

/** Shows a text until the viewer leaves this route or another text comes. */
export function say(text: string): void {
  show(text);
}

export function Notice() {
  const [{ text }, setSaid] = useState(nothing);
  useEffect(() => {
    show = (said) => setSaid({ text: said, route: location.hash });
    // The event of going to the route where the text was shown comes afterwards, and must not clear it.
    const clear = () => setSaid((said) => (said.route === location.hash ? said : nothing));
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
