/**
 * Prints how many bytes outlive small garbage collections while many items come and go, for each of the collections
 * that its arguments name. `bytes-left.ts` starts it.
 */
import { SlotSet, RenewedMap } from '../../src/kit/collections.ts';
import { collectGarbage, oldBytes } from '../support/old-space.ts';
import type { Collection } from './bytes-left.ts';

/** How many items of some 800 bytes come. All but the last fifty of them go. */
const items = 40_000;
const inAtOnce = 50;

type Item = readonly number[];
type Come = (item: Item, index: number) => void;

const itemOf = (index: number): Item => Array.from({ length: 100 }, () => index);

/** Lets items come, after a full collection has found the first of them in use. */
function bytesLeftBy(come: Come): number {
  for (let index = 0; index < inAtOnce; index += 1) come(itemOf(index), index);
  collectGarbage();
  const before = oldBytes();
  for (let index = inAtOnce; index < items; index += 1) {
    come(itemOf(index), index);
    if (index % 1_000 === 0) collectGarbage('minor');
  }
  return oldBytes() - before;
}

function entriesOf(map: Pick<Map<number, Item>, 'set' | 'delete'> | RenewedMap<number, Item>): Come {
  return (item, index) => {
    map.set(index, item);
    map.delete(index - inAtOnce);
  };
}

function membersOf(add: (item: Item) => () => unknown): Come {
  const takeOut: (() => unknown)[] = [];
  return (item) => {
    takeOut.push(add(item));
    if (takeOut.length > inAtOnce) takeOut.shift()?.();
  };
}

function membersOfSet(): Come {
  const set = new Set<Item>();
  return membersOf((item) => {
    set.add(item);
    return () => set.delete(item);
  });
}

function membersOfSlotSet(): Come {
  const set = new SlotSet<Item>();
  return membersOf((item) => set.add(item));
}

const comingInto: Readonly<Record<Collection, () => Come>> = {
  Map: () => entriesOf(new Map()),
  RenewedMap: () => entriesOf(new RenewedMap()),
  Set: membersOfSet,
  SlotSet: membersOfSlotSet,
};

const bytes = process.argv.slice(2).map((name) => bytesLeftBy(comingInto[name as Collection]()));
process.stdout.write(JSON.stringify(bytes));
