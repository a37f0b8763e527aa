import { useAccess } from '../api/access.ts';
import { change, pathOf } from '../api/client.ts';
import type { Delivery, Discarded, Released } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { Body } from '../parts/body.tsx';
import { ChangeButton } from '../parts/change-button.tsx';
import { size } from '../parts/format.ts';
import { Signature } from '../parts/signature.tsx';
import { Loaded } from '../parts/standing.tsx';
import { Fact, Facts, Foreign, State, Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';
import { whyOf } from './quarantine-reasons.ts';

export function DeliveryView({ id }: { readonly id: string }) {
  const path = `/quarantine${pathOf(id)}`;
  const resource = useResource<Delivery>(path, ['quarantine']);
  return (
    <>
      <p class="way">
        <a href={linkTo(['quarantine'])}>Quarantine</a>
      </p>
      <Loaded resource={resource} heading={`Delivery ${id}`}>
        {(delivery) => <OneDelivery delivery={delivery} path={path} />}
      </Loaded>
    </>
  );
}

function OneDelivery({ delivery, path }: { readonly delivery: Delivery; readonly path: string }) {
  const { id, kind, reason, isCut } = delivery;
  const { what, next } = whyOf(reason);
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>Delivery {id}</h1>
        <State state={kind} />
        <div class="buttons">
          <Changes id={id} path={path} />
        </div>
      </div>
      <div class="empty">
        <p class="empty-title">{what}</p>
        <p>{next}</p>
      </div>
      <Facts>
        <Fact name="Arrived">
          <Time at={delivery.receivedAt} isLong />
        </Fact>
        <Fact name="Reason">
          <code>{reason}</code>
        </Fact>
        <Fact name="Trace id, not verified">
          <Foreign text={delivery.traceId} isCode />
        </Fact>
        <Fact name="Size">
          {size(delivery.bytes)}
          {isCut && ', of which only the beginning is kept: it cannot be released'}
        </Fact>
        <Fact name="SHA-256 of the body" isLong>
          <code>{delivery.digest}</code>
        </Fact>
      </Facts>
      <Signature path={path} />
      <Body path={path} />
    </>
  );
}

function Changes({ id, path }: { readonly id: number; readonly path: string }) {
  if (!useAccess().mayDo('quarantine')) return null;
  return (
    <>
      <ChangeButton
        label="Release"
        isPrimary
        title={`Release delivery ${id}?`}
        text="It is verified again as of its arrival, with the current secrets. If it verifies and can be read, it becomes an event."
        act={async (why) => {
          const { status, traceId } = await change<Released>(`${path}/release`, {
            body: why,
          });
          const isCopy = status === 'duplicate';
          const text = isCopy
            ? 'It is a duplicate of this event, which is already stored.'
            : 'Released: it is now this event.';
          return { text, seenAt: ['events', traceId] };
        }}
      />
      <ChangeButton
        label="Discard"
        isDangerous
        title={`Discard delivery ${id}?`}
        text="It is removed permanently."
        act={async (why) => {
          const body = why.reason !== undefined && { body: why };
          const { discarded } = await change<Discarded>(path, { method: 'DELETE', ...body });
          // Whoever released it first has made it an event, which is not discarded.
          const text = discarded
            ? `Discarded delivery ${id}.`
            : `Delivery ${id} was no longer in quarantine: the audit list says who released or discarded it.`;
          return { text, seenAt: ['quarantine'] };
        }}
      />
    </>
  );
}
