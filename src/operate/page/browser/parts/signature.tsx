/** What the signature of a delivery in quarantine, or of an event, proves. */
import type { SignatureCheck } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { Loaded } from './standing.tsx';
import { Fact, Facts, State, Time } from './text.tsx';

/**
 * No topic loads it again: the receiver tries every scheme on the whole body, which is not to happen every few seconds.
 */
export function Signature({ path }: { readonly path: string }) {
  const resource = useResource<SignatureCheck>(`${path}/signature`, []);
  return (
    <section aria-labelledby="signature-title">
      <h2 id="signature-title">Signature, with the current secrets</h2>
      <Loaded resource={resource}>{(check) => <Checked check={check} />}</Loaded>
    </section>
  );
}

/** What a message tells to run. In brackets, so that it is kept when the message is split by it. */
const command = /(ringback signature detect --quarantine \d+)/;

function Checked({ check }: { readonly check: SignatureCheck }) {
  const { status, scheme, message } = check;
  return (
    <>
      <p>
        <State state={status} />{' '}
        {message
          .split(command)
          .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
      </p>
      <Facts>
        {scheme !== undefined && (
          <Fact name="Signed in the scheme">
            <code>{scheme}</code>
          </Fact>
        )}
        {'signedAt' in check && (
          <Fact name="Signed time">
            <Time at={check.signedAt} isLong />
          </Fact>
        )}
        {'expected' in check && (
          <Fact name="Set or pinned scheme">
            <code>{check.expected}</code>
          </Fact>
        )}
      </Facts>
    </>
  );
}
