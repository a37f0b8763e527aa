/** Says what became of a change, to eyes and to screen readers. */
import { useEffect, useState } from 'preact/hooks';

let show: (text: string) => void = () => {};

/** Says something until the viewer goes on or something else is said. */
export function say(text: string): void {
  show(text);
}

export function Notice() {
  const [text, setText] = useState('');
  useEffect(() => {
    show = setText;
    const clear = () => setText('');
    addEventListener('hashchange', clear);
    return () => removeEventListener('hashchange', clear);
  }, []);
  return (
    <div class="notice" role="status">
      {text !== '' && (
        <p>
          <span dir="auto">{text}</span>
          <button type="button" aria-label="Close this message" onClick={() => setText('')}>
            ×
          </button>
        </p>
      )}
    </div>
  );
}
