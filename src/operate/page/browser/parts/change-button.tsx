/** A button for a change: it asks first, says how much would change, and takes the reason. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { changed } from '../api/changes.ts';
import { type Refusal, refusalOf } from '../api/client.ts';
import { goOn } from '../router.ts';
import { say } from './notice.tsx';
import { Refused } from './standing.tsx';

/** What the body of a change says about why it is made. */
export interface Why {
  readonly reason?: string;
}

/** What was done, in words, and where it is seen, if what is shown is gone. */
export interface Done {
  readonly text: string;
  readonly seenAt: readonly string[];
}

export interface ChangeProps {
  /** On the button. */
  readonly label: string;
  /** The question of the dialog. */
  readonly title: string;
  /** What the change means. */
  readonly text: string;
  /**
   * Says what would change, by a dry run, which `signal` ends. Text means that it may be done; undefined that there is nothing
   * to do.
   */
  readonly preview?: (signal: AbortSignal) => Promise<string | undefined>;
  /** Does it, and says what was done. It is given the reason, if there is one. */
  readonly act: (why: Why) => Promise<string | Done>;
  /** Whether a reason must be given. It may be in any case. */
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
 * The dialog that is open. It is outside of the view, and keeps what its button was when it was pressed: the view goes on
 * showing what others do, but what was asked is what is done, and a reason that is being typed stays.
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
  // The browser says somewhat later that one was closed: another may be open by then.
  const close = () => setOpened((now) => (now?.id === id ? undefined : now));
  return <ChangeDialog key={id} {...props} close={close} />;
}

const unknown = 'It is not known whether this was done. Look at the audit list before you try it again.';

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

  // Before anything else happens: what is typed now is meant for the dialog.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const closed = new AbortController();
    void props.preview?.(closed.signal).then(
      (found) => setPreview(found === undefined ? { kind: 'nothing' } : { kind: 'known', text: found }),
      (error: unknown) => closed.signal.aborted || setRefusal(refusalOf(error)),
    );
    return () => closed.abort();
    // Asked once, when the dialog opens.
  }, []);

  /** Whoever has closed it, or has gone elsewhere, is told what became of it, and is led nowhere. */
  const isOpen = () => dialog.current?.open === true;
  const leave = (done: string | Done) => {
    dialog.current?.close();
    // What was acted on may be gone with its button: reading goes on at the top of the view.
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
          {preview.kind === 'nothing' && <p>There is nothing that this would change now.</p>}
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
