/** A filter with its values in the address, so that a colleague can open the same view. */
import { useEffect, useState } from 'preact/hooks';
import { goTo, linkTo } from '../router.ts';

/** A condition of a filter. */
export interface Field {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; left out for free text. */
  readonly choices?: readonly string[];
  readonly isTime?: boolean;
  readonly isNumber?: boolean;
  /** Suggestions for free text. */
  readonly proposals?: readonly string[];
  /** What it means, in a line beneath. */
  readonly hint?: string | undefined;
  /** Whether it is wider than others: for the sake of its value, or of its hint. */
  readonly isLong?: boolean;
}

interface FilterProps {
  readonly view: string;
  readonly fields: readonly Field[];
  readonly query: Readonly<Record<string, string>>;
}

export function FilterForm({ view, fields, query }: FilterProps) {
  const [values, setValues] = useState(query);
  // Going back, or a link to this view, brings other values.
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
            // A choice applies at once, text on Enter.
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

/** The inputs of a filter, also for other forms. */
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
      {fields.map((field, index) => (
        <div key={field.name} class={field.isLong || field.isTime ? 'field long-field' : 'field'}>
          <label>
            {field.label}
            <Input field={field} isFirst={index === 0} value={values[field.name] ?? ''} set={set} />
          </label>
          {field.hint !== undefined && (
            <div id={`hint-${field.name}`} class="hint" dir="auto">
              {field.hint}
            </div>
          )}
        </div>
      ))}
    </>
  );
}

function Input({
  field: { name, choices, isTime, isNumber, proposals, hint },
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
        aria-describedby={hint && `hint-${name}`}
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

/** Whether a number input can show the text: it would show nothing for other text. */
export function isNumeric(text: string): boolean {
  return Number.isFinite(Number(text));
}

/** From the parts of the local time: an offset in whole minutes is wrong for times before standard time zones. */
function toLocalInput(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const day = [padded(time.getFullYear(), 4), padded(time.getMonth() + 1), padded(time.getDate())].join('-');
  return `${day}T${padded(time.getHours())}:${padded(time.getMinutes())}`;
}

function padded(part: number, length = 2): string {
  return String(part).padStart(length, '0');
}

/** While a year is being typed, the time may be invalid. */
function fromLocalInput(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
