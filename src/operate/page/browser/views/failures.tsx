/** The groups of similar failures, each with buttons for the whole group. */
import { useAccess } from '../api/access.ts';
import { change, pathOf, withQuery } from '../api/client.ts';
import type { FailureGroup, Failures } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import { FilterForm } from '../parts/filter-form.tsx';
import { counted, directed, number } from '../parts/format.ts';
import { Dismiss, type Filter, Replay } from '../parts/run-changes.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { Foreign, Time } from '../parts/text.tsx';
import { type Route, linkTo } from '../router.ts';
import { useHandlerNames } from './event-fields.ts';

/** Up to where the receiver counts the dead letters of a group. */
const maxCounted = 10_000;

export function FailuresView({ query: { group, ...query } }: Route) {
  const resource = useResource<Failures>(withQuery('/failures', query), ['failures', 'events']);
  return (
    <>
      <h1 tabIndex={-1}>Failures</h1>
      <FilterForm
        view="failures"
        fields={[{ name: 'handler', label: 'Handler', proposals: useHandlerNames() }]}
        query={query}
      />
      {group && (
        <p class="faint">
          One group is shown. <a href={linkTo(['failures'], query)}>Show all</a>
        </p>
      )}
      <Loaded resource={resource}>
        {({ groups }) =>
          group ? (
            <GroupList
              groups={groups.filter(({ id }) => id === group)}
              ifNone="Nothing fails like this now."
            />
          ) : (
            <GroupList
              groups={groups}
              ifNone={query['handler'] ? 'Nothing of this handler fails.' : 'Nothing fails.'}
            />
          )
        }
      </Loaded>
    </>
  );
}

function GroupList({ groups, ifNone }: Failures & { readonly ifNone: string }) {
  if (groups.length === 0)
    return <Empty title={ifNone}>When a handler throws, its failed runs are grouped here by cause.</Empty>;
  // Muted groups come last: they are known.
  const mutedLast = groups.toSorted(
    (one, other) => Number(one.mutedAt !== undefined) - Number(other.mutedAt !== undefined),
  );
  return (
    <ul class="groups">
      {mutedLast.map((group) => (
        <Group key={group.id} group={group} />
      ))}
    </ul>
  );
}

function Group({ group }: { readonly group: FailureGroup }) {
  const { id, handler, cause, location, message, dead, retrying, traceId, mutedAt } = group;
  const mayReplay = useAccess().mayDo('replay');
  const filter: Filter = { handler, failure: id };
  const deadOnes = { ...filter, state: 'dead' };
  const orMore = dead >= maxCounted ? ' or more' : '';
  const what = `${number(dead)}${orMore} ${dead === 1 ? 'dead letter' : 'dead letters'} of ${handler}`;
  return (
    <li class="group">
      <div class="group-head">
        <strong dir="auto">{handler}</strong>
        {dead > 0 && (
          <span class="state state-dead">
            {number(dead)}
            {orMore} dead
          </span>
        )}
        {retrying > 0 && <span class="state state-retry">{number(retrying)} retrying</span>}
        {mutedAt !== undefined && <span class="state">muted</span>}
        <Sparkline counts={group.lastDay} />
        <div class="buttons">
          {dead > 0 && <Replay filter={deadOnes} what={what} />}
          {dead > 0 && <Dismiss filter={deadOnes} what={what} />}
          <MuteOrUnmute id={id} isMuted={mutedAt !== undefined} />
        </div>
      </div>
      <p>
        <span class="cause" dir="auto">
          {directed(cause)}{' '}
        </span>
        <Foreign text={message} />
      </p>
      <p class="faint">
        {location !== undefined && (
          <>
            at <Foreign text={location} isCode /> ·{' '}
          </>
        )}
        first seen <Time at={group.firstSeenAt} /> · last seen <Time at={group.lastSeenAt} />
      </p>
      <p class="links">
        {traceId !== undefined && <a href={linkTo(['events', traceId])}>latest event</a>}
        <a href={linkTo(['events'], dead > 0 ? deadOnes : filter)}>all its events</a>
        {dead > 0 && mayReplay && <a href={linkTo(['replay'], deadOnes)}>replay at a rate</a>}
      </p>
    </li>
  );
}

function MuteOrUnmute({ id, isMuted }: { readonly id: string; readonly isMuted: boolean }) {
  if (!useAccess().mayDo('pause')) return null;
  const [label, path] = isMuted ? (['Unmute', 'unmute'] as const) : (['Mute', 'mute'] as const);
  return (
    <ChangeButton
      label={label}
      title={`${label} these failures?`}
      text={
        isMuted
          ? 'Alerts include them again.'
          : 'Alerts no longer report them until they are unmuted, so nobody is woken by a known failure. Runs are retried as before.'
      }
      act={async (why) => {
        await change(`/failures${pathOf(id)}/${path}`, { body: why });
        return isMuted ? 'Alerts include them again.' : 'Alerts now ignore them.';
      }}
    />
  );
}

const [width, height, gap] = [4, 18, 1];

/** Counts of the last 24 hours, the current hour last. */
function Sparkline({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(...counts);
  const sum = counts.reduce((all, count) => all + count, 0);
  const text = `${counted(sum, 'failed attempt')} in the last day, ${number(counts.at(-1) ?? 0)} in the present hour`;
  return (
    <>
      <svg
        class="sparkline"
        role="img"
        aria-label={text}
        width={counts.length * (width + gap)}
        height={height}
      >
        <title>{text}</title>
        {counts.map((count, hour) => {
          const bar = count === 0 ? 1 : Math.max(2, (count / most) * height);
          return <rect key={hour} x={hour * (width + gap)} y={height - bar} width={width} height={bar} />;
        })}
      </svg>
      <span class="scale faint">last 24 h, at most {number(most)} an hour</span>
    </>
  );
}
