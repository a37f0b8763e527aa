/** A filter whose values are in the address, so that what is seen can be sent to a colleague. */
import { useEffect, useState } from 'preact/hooks';
import { goTo, linkTo } from '../router.ts';

/** One condition. */
export interface Field {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; without them it is text. */
  readonly choices?: readonly string[];
  readonly isTime?: boolean;
  readonly isNumber?: boolean;
  /** Values that are proposed, but not the only ones. */
  readonly proposals?: readonly string[];
}

interface FilterProps {
  readonly view: string;
  readonly fields: readonly Field[];
  readonly query: Readonly<Record<string, string>>;
}

export function FilterForm({ view, fields, query }: FilterProps) {
  const [values, setValues] = useState(query);
  // The way back, or a link into this view, brings other values.
  const given = JSON.stringify(query);
  useEffect(() => setValues(JSON.parse(given) as typeof query), [given]);
  const chosen = fields.filter(({ name }) => query[name]);

  const apply = (next: typeof values) => {
    const known = fields.map(({ name }) => [name, next[name]?.trim()] as const);
    goTo([view], Object.fromEntries(known));
  };

  return (
    <search>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          apply(values);
        }}
      >
        <FilterFields
          fields={fields}
          values={values}
          set={(name, value) => {
            const next = { ...values, [name]: value };
            setValues(next);
            // A choice is made at once; text is typed until Enter.
            if (fields.find((field) => field.name === name)?.choices) apply(next);
          }}
        />
        <div class="buttons">
          <button type="submit">Filter</button>
          {chosen.length > 0 && (
            <a class="button" href={linkTo([view])}>
              Clear
            </a>
          )}
        </div>
      </form>
    </search>
  );
}

/** The inputs of a filter, for forms that do something else with them. */
export function FilterFields({
  fields,
  values,
  set,
}: {
  readonly fields: readonly Field[];
  readonly values: Readonly<Record<string, string>>;
  readonly set: (name: string, value: string) => void;
}) {
  return (
    <>
      {fields.map((field, place) => (
        <label key={field.name}>
          {field.label}
          <Input field={field} isFirst={place === 0} value={values[field.name] ?? ''} set={set} />
        </label>
      ))}
    </>
  );
}

function Input({
  field: { name, choices, isTime, isNumber, proposals },
  isFirst,
  value,
  set,
}: {
  readonly field: Field;
  readonly isFirst: boolean;
  readonly value: string;
  readonly set: (name: string, value: string) => void;
}) {
  const shortcut = isFirst ? { 'data-filter': true } : {};
  if (choices)
    return (
      <select {...shortcut} value={value} onChange={(event) => set(name, event.currentTarget.value)}>
        <option value="">any</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    );
  if (isTime)
    return (
      <input
        {...shortcut}
        type="datetime-local"
        value={toLocalInput(value)}
        onChange={(event) => set(name, fromLocalInput(event.currentTarget.value))}
      />
    );
  return (
    <>
      <input
        {...shortcut}
        {...(isNumber && isNumeric(value) && { type: 'number', min: 0, step: 'any' })}
        value={value}
        dir="auto"
        spellcheck={false}
        autocomplete="off"
        list={proposals && `proposals-${name}`}
        onInput={(event) => set(name, event.currentTarget.value)}
      />
      {proposals && (
        <datalist id={`proposals-${name}`}>
          {proposals.map((proposal) => (
            <option key={proposal} value={proposal} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** What an input for numbers can show: of another text in an address it would show nothing. */
export function isNumeric(text: string): boolean {
  return Number.isFinite(Number(text));
}

/** By the parts of the local time: an offset in whole minutes is wrong for the years before there were time zones. */
function toLocalInput(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const day = [padded(time.getFullYear(), 4), padded(time.getMonth() + 1), padded(time.getDate())].join('-');
  return `${day}T${padded(time.getHours())}:${padded(time.getMinutes())}`;
}

function padded(part: number, length = 2): string {
  return String(part).padStart(length, '0');
}

/** While a year is being typed, it may be one that no time is in. */
function fromLocalInput(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
