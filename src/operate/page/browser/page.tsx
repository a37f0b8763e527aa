import { useEffect, useState } from 'preact/hooks';
import { AccessContext, type Access, loadAccess } from './api/access.ts';
import { followChanges } from './api/changes.ts';
import { type Refusal, refusalOf } from './api/client.ts';
import { CountsProvider } from './api/counts.tsx';
import { OpenDialog } from './parts/change-button.tsx';
import { Navigation } from './parts/navigation.tsx';
import { Notice } from './parts/notice.tsx';
import { Empty, Refused } from './parts/standing.tsx';
import { useRoute } from './router.ts';
import { viewAt } from './views/views.tsx';

export function Page() {
  const route = useRoute();
  const [access, setAccess] = useState<Access>();
  const [refusal, setRefusal] = useState<Refusal>();
  const load = async () => {
    try {
      const loaded = await loadAccess();
      followChanges();
      setRefusal(undefined);
      setAccess(loaded);
    } catch (error) {
      setRefusal(refusalOf(error));
    }
  };
  useEffect(() => void load(), []);
  useEffect(followKeys, []);
  useEffect(keepFocus, []);
  useTitle(route.path.join(' '));

  if (refusal)
    return (
      <main>
        <h1>Ringback</h1>
        <Refused refusal={refusal} retry={() => void load()} />
      </main>
    );
  if (!access)
    return (
      <main aria-busy="true">
        <h1 class="loading">Ringback</h1>
      </main>
    );
  const view = viewAt(route);
  return (
    <AccessContext.Provider value={access}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The part of the address after # names the view.
          event.preventDefault();
          document.querySelector<HTMLElement>('main h1')?.focus();
        }}
      >
        Skip to the content
      </a>
      <CountsProvider>
        <Navigation view={route.path[0] ?? ''} />
        <main id="main">
          <Notice />
          {view ?? (
            <>
              <h1 tabIndex={-1}>There is no such view</h1>
              <Empty title="This address belongs to no view.">Choose a view from the menu.</Empty>
            </>
          )}
          <OpenDialog />
        </main>
      </CountsProvider>
    </AccessContext.Provider>
  );
}

function useTitle(path: string): void {
  useEffect(() => {
    document.title = path === '' ? 'Ringback' : `${path} · Ringback`;
  }, [path]);
}

/** `/` focuses the filter, unless the viewer is typing. */
function followKeys(): () => void {
  const follow = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches('input, select, textarea') || document.querySelector('dialog[open]')) return;
    const first = document.querySelector<HTMLElement>('[data-filter]');
    if (!first) return;
    event.preventDefault();
    first.focus();
  };
  addEventListener('keydown', follow);
  return () => removeEventListener('keydown', follow);
}

/** Moves the focus to the heading when its element is removed by another view or new data, so that it isn't lost. */
function keepFocus(): () => void {
  let last: Element | null = null;
  const note = () => (last = document.activeElement);
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body || !last || last.isConnected) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
  addEventListener('focusin', note);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    removeEventListener('focusin', note);
    observer.disconnect();
  };
}
