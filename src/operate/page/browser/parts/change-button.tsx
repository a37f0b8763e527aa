/** A button for a change. Its dialog says how much would change, and asks for a reason. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { changed } from '../api/changes.ts';
import { type Refusal, refusalOf } from '../api/client.ts';
import { goOn } from '../router.ts';
import { say } from './notice.tsx';
import { Refused } from './standing.tsx';

/** The reason of a change, as its request contains it. */
export interface Why {
  readonly reason?: string;
}

/** What was done, in words, and the place to go to, for a change that removes what is shown. */
export interface Done {
  readonly text: string;
  readonly seenAt: readonly string[];
}

export interface ChangeProps {
  /** The text of the button. */
  readonly label: string;
  /** The question of the dialog. */
  readonly title: string;
  /** What the change means. */
  readonly text: string;
  /** Describes by a dry run what would change; undefined for nothing. `signal` aborts when the dialog closes. */
  readonly preview?: (signal: AbortSignal) => Promise<string | undefined>;
  /** Makes the change and says what was done. */
  readonly act: (why: Why) => Promise<string | Done>;
  /** Whether a reason is required; otherwise it is optional. */
  readonly isReasonRequired?: boolean;
  readonly isDangerous?: boolean;
  readonly isPrimary?: boolean;
}

let open: (props: ChangeProps) => void = () => {};

export function ChangeButton(props: ChangeProps) {
  const looks = props.isDangerous ? 'danger' : props.isPrimary ? 'primary' : '';
  return (
    <button type="button" class={looks} onClick={() => open(props)}>
      {props.label}…
    </button>
  );
}

interface Opened {
  readonly id: number;
  readonly props: ChangeProps;
}

/**
 * The open dialog. It is outside of the view and keeps the props from the moment of the click: while the view is
 * updated, the change remains the one that was asked for, and a half-typed reason stays.
 */
export function OpenDialog() {
  const [opened, setOpened] = useState<Opened>();
  useEffect(() => {
    let id = 0;
    open = (props) => {
      id += 1;
      setOpened({ id, props });
    };
    const close = () => setOpened(undefined);
    addEventListener('hashchange', close);
    return () => removeEventListener('hashchange', close);
  }, []);
  if (!opened) return null;
  const { id, props } = opened;
  // The browser's `close` event comes late: another dialog may be open by then.
  const close = () => setOpened((now) => (now?.id === id ? undefined : now));
  return <ChangeDialog key={id} {...props} close={close} />;
}

const unknown = 'It is not known whether this was done. Check the audit list before you try again.';

type Preview =
  | { readonly kind: 'counting' }
  | { readonly kind: 'known'; readonly text: string }
  | { readonly kind: 'nothing' };

function ChangeDialog({ close, ...props }: ChangeProps & { readonly close: () => void }) {
  const { title, text, act, isReasonRequired = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [reason, setReason] = useState('');
  const [preview, setPreview] = useState<Preview>(
    props.preview ? { kind: 'counting' } : { kind: 'known', text: '' },
  );
  const [isBusy, setIsBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();

  // In a layout effect, before any key can be typed outside of the dialog.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const closed = new AbortController();
    void props.preview?.(closed.signal).then(
      (found) => setPreview(found === undefined ? { kind: 'nothing' } : { kind: 'known', text: found }),
      (error: unknown) => closed.signal.aborted || setRefusal(refusalOf(error)),
    );
    return () => closed.abort();
    // Only when the dialog opens.
  }, []);

  /** A viewer who has closed the dialog or left is told the result, but not moved elsewhere. */
  const isOpen = () => dialog.current?.open === true;
  const leave = (done: string | Done) => {
    dialog.current?.close();
    // The button may be gone: the focus goes to the top of the view.
    document.querySelector<HTMLElement>('main h1')?.focus();
    if (typeof done !== 'string') goOn(done.seenAt);
  };
  const submit = async () => {
    setIsBusy(true);
    setRefusal(undefined);
    try {
      const given = reason.trim();
      const done = await act(given === '' ? {} : { reason: given });
      if (isOpen()) leave(done);
      say(typeof done === 'string' ? done : done.text);
      changed();
    } catch (error) {
      const refused = refusalOf(error, unknown);
      if (!isOpen()) say(`${props.label}: ${refused.message}`);
      setRefusal(refused);
      setIsBusy(false);
    }
  };
  const isReady = preview.kind === 'known' && !isBusy && (!isReasonRequired || reason.trim() !== '');

  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void submit();
        }}
      >
        <h2 id={`${id}-title`} dir="auto">
          {title}
        </h2>
        <p>{text}</p>
        <div class="preview" aria-live="polite">
          {preview.kind === 'counting' && !refusal && <p>Counting…</p>}
          {preview.kind === 'nothing' && <p>There is nothing to change now.</p>}
          {preview.kind === 'known' && preview.text !== '' && <p dir="auto">{preview.text}</p>}
        </div>
        <label>
          {isReasonRequired ? 'Reason (kept with the change)' : 'Reason (optional, kept with the change)'}
          <input
            value={reason}
            maxLength={500}
            required={isReasonRequired}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        {refusal && <Refused refusal={refusal} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {isBusy ? 'Close' : 'Cancel'}
          </button>
          <button
            type="submit"
            class={props.isDangerous ? 'danger' : 'primary'}
            disabled={!isReady && !isBusy}
            aria-disabled={isBusy}
          >
            {isBusy ? 'Working…' : props.label}
          </button>
        </div>
      </form>
    </dialog>
  );
}
