/** The numbers of statements, such as `SUB-7`, in the cells of docs/coverage.md. */

const one = /^([A-Z]+)-(\d+)$/;

/**
 * The numbers that a cell names: a list such as `SUB-1 to SUB-4, SUB-7`, or none for a dash.
 *
 * @throws for anything else, so that a number with a slip in it can't be passed over
 */
export function idsIn(cell = ''): string[] {
  return cell === '–' ? [] : cell.split(', ').flatMap((part) => idsOfPart(part));
}

function idsOfPart(part: string): string[] {
  const [first = '', last = first, ...more] = part.split(' to ');
  const [, section, from] = one.exec(first) ?? [];
  const [, sectionOfLast, to] = one.exec(last) ?? [];
  const count = Number(to) - Number(from) + 1;
  if (section === undefined || section !== sectionOfLast || !(count >= 1) || more.length > 0) {
    throw new Error(`"${part}" should be the number of a statement, or two of one section with "to" between`);
  }
  return Array.from({ length: count }, (_, index) => `${section}-${Number(from) + index}`);
}

/** The same number of ids in the order that they should have: each section in one piece, counted from 1. */
export function inOrder(ids: readonly string[]): string[] {
  const sections = ids.map((id) => id.replace(/-\d+$/, ''));
  return [...new Set(sections)].flatMap((section) =>
    Array.from(
      { length: sections.filter((each) => each === section).length },
      (_, i) => `${section}-${i + 1}`,
    ),
  );
}
