/** Replays many events: first shows what would run, then runs it, at a rate that the handlers' systems can bear. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { useAccess } from '../api/access.ts';
import { type Refusal, refusalOf } from '../api/client.ts';
import type { ChangedRuns } from '../api/shapes.ts';
import { type Field, FilterFields, isNumeric } from '../parts/filter-form.tsx';
import { counted, duration, number } from '../parts/format.ts';
import { type ReplayOptions, Replay, previewReplay } from '../parts/run-changes.tsx';
import { RunningActions } from '../parts/running-actions.tsx';
import { Empty, Refused } from '../parts/standing.tsx';
import { ForeignWords } from '../parts/text.tsx';
import { type Route, keepInAddress } from '../router.ts';
import { useEventFields, useHandlerNames } from './event-fields.ts';

type Values = Readonly<Record<string, string>>;

interface Preview {
  readonly filter: Values;
  readonly options: ReplayOptions;
  readonly found: ChangedRuns;
}

/** A preview for some values. While it is being counted, it has neither result nor refusal. */
interface Asked {
  readonly values: Values;
  readonly preview?: Preview;
  readonly refusal?: Refusal;
}

export function ReplayView({ query }: Route) {
  const [values, setValues] = useState<Values>(query);
  // Another route is a new replay.
  useLayoutEffect(() => setValues(query), [query]);
  const [latest, setLatest] = useState<Asked>();
  const handlers = useHandlerNames();
  const fields = useEventFields(query, handlers);
  if (!useAccess().mayDo('replay'))
    return (
      <>
        <h1 tabIndex={-1}>Replay in bulk</h1>
        <Empty title="You may not replay.">Ask the operator of the receiver for the action replay.</Empty>
      </>
    );

  const set = (name: string, value: string) => setValues({ ...values, [name]: value });
  const ask = async () => {
    setLatest({ values });
    keepInAddress(['replay'], values);
    const { filter, options } = askedOf(values);
    const end = (outcome: Omit<Asked, 'values'>) =>
      setLatest((now) => (now?.values === values ? { values, ...outcome } : now));
    try {
      end({ preview: { filter, options, found: await previewReplay(filter, options) } });
    } catch (error) {
      end({ refusal: refusalOf(error) });
    }
  };
  // A preview for other values doesn't show what would run now, even if its answer is late.
  const { preview, refusal } = latest?.values === values ? latest : {};
  const isBusy = latest?.values === values && !preview && !refusal;

  return (
    <>
      <h1 tabIndex={-1}>Replay in bulk</h1>
      <RunningActions />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void ask();
        }}
      >
        <h2>Which events</h2>
        <div class="filter">
          <FilterFields fields={fields.map(explained)} values={values} set={set} />
        </div>
        <h2>How</h2>
        <div class="filter">
          <FilterFields
            fields={[
              {
                name: 'only',
                label: 'Only this handler',
                isLong: true,
                proposals: handlers,
                hint: 'Also for events that it has never run for. Empty: the handler above, else all.',
              },
              {
                name: 'rate',
                label: 'Runs a second, at most',
                isNumber: true,
                isLong: true,
                hint: 'Empty: as many as the handlers take.',
              },
            ]}
            values={values}
            set={set}
          />
        </div>
        <button type="submit" aria-disabled={isBusy}>
          {isBusy ? 'Counting…' : 'Show what would run'}
        </button>
      </form>
      {refusal && <Refused refusal={refusal} />}
      {preview && <Outcome preview={preview} onDone={() => setLatest(undefined)} />}
    </>
  );
}

function explained(field: Field): Field {
  return field.name === 'handler' ? { ...field, hint: 'With a stored run of it.' } : field;
}

function Outcome({
  preview: { filter, options, found },
  onDone,
}: {
  readonly preview: Preview;
  /** Discards the preview, which is no longer right. */
  readonly onDone: () => void;
}) {
  if (found.runs === 0)
    return (
      <Empty title="Nothing would run.">
        No event matches, or all of their runs are still open. With the state dead, only dead letters are run.
      </Empty>
    );
  const { rate } = options;
  return (
    <section class="outcome" aria-live="polite">
      <h2>What would run</h2>
      <p>
        <strong>{counted(found.runs, 'run')}</strong> of {counted(found.events, 'event')}
        {rate !== undefined && `, over ${duration((found.runs / Number(rate)) * 1_000)}`}
      </p>
      <ul>
        {Object.entries(found.handlers).map(([name, count]) => (
          <li key={name}>
            <ForeignWords text={name} />: {number(count)}
          </li>
        ))}
      </ul>
      <Replay filter={filter} options={options} what={counted(found.events, 'event')} onDone={onDone} />
    </section>
  );
}

function askedOf(values: Values): { readonly filter: Values; readonly options: ReplayOptions } {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value.trim() === '' ? [] : [[name, value.trim()] as const],
  );
  const { only, rate, ...filter } = Object.fromEntries(given);
  const options = { ...(only && { only }), ...(rate && { rate: isNumeric(rate) ? Number(rate) : rate }) };
  return { filter, options };
}
