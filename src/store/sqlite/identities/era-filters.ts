import type { FilterPlaces } from './bloom-filter.ts';
import { Board, boardOf, erasIn } from './board.ts';

/** What nearly all keys are answered with. */
const none: readonly number[] = [];

/** The filters of eras, in memory. */
export class EraFilters {
  readonly #boards = new Map<number, Board>();
  readonly #eras = new Set<number>();

  /** Whose filters these are. */
  get eras(): readonly number[] {
    return [...this.#eras];
  }

  /** The boards that are here, by their number. */
  get boards(): ReadonlyMap<number, Board> {
    return this.#boards;
  }

  /** Adds the filter of an era. */
  add(era: number, filter: Uint8Array): void {
    const number = boardOf(era);
    const board = this.#boards.get(number) ?? new Board();
    board.add(era, filter);
    this.#boards.set(number, board);
    this.#eras.add(era);
  }

  /** Gives up the filters of some eras; a board goes with the last of its eras. */
  remove(gone: (era: number) => boolean): void {
    for (const era of this.#eras) if (gone(era)) this.#eras.delete(era);
    const left = new Set([...this.#eras].map(boardOf));
    for (const board of this.#boards.keys()) if (!left.has(board)) this.#boards.delete(board);
  }

  /** The eras that may have a key. */
  mayHave(places: FilterPlaces): readonly number[] {
    let found: number[] | undefined;
    for (const [number, board] of this.#boards) {
      const word = board.ask(places);
      if (word !== 0) (found ??= []).push(...erasIn(number, word));
    }
    return found ?? none;
  }
}
