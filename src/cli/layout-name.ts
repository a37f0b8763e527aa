import { type LayoutName, knownLayouts } from '../signature/layouts.ts';
import { argument } from './argument.ts';

/** The names of the known layouts. */
export const layoutNames = [...knownLayouts.keys()];

/** The name of a known layout, as the argument of an option. */
export const layoutName = argument(`one of ${layoutNames.join(', ')}`, readLayoutName);

function readLayoutName(value: unknown): LayoutName | undefined {
  return layoutNames.find((name) => name === value);
}
