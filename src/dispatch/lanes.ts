import { RenewedMap } from '../kit/collections.ts';
import type { ShareOfBytes, SharedBytes } from '../kit/limiters.ts';
import type { Handler } from './handler.ts';
import { type Run, mayBePoison } from './run.ts';

/**
 * The most runs of one handler that are ready or active in memory; more wait in the inbox. It is larger than the number
 * of connections in a burst: each delivery that is being recorded reserves room, and an event without it must be
 * claimed and read again, which costs as much as everything else about it.
 */
const maxInMemory = 1_000;
/**
 * The most runs in memory that may be poison. Counted separately: after a crash there may be a thousand, which begin one
 * at a time, and new events would have no room until most of them have ended.
 */
const maxPoison = 4_000;
/**
 * The most runs that wait in memory for an earlier run of their call, by the handler's order. Counted separately, so
 * that one busy call doesn't take the room of all others. A run that finds no room costs writes. With order `strict`
 * there are fewer, because all of them go back to the inbox when the run before them fails.
 */
const maxFollowing = { strict: 250, call: 2_000, none: 0 };

/**
 * The runs of one handler that this process has claimed: those that may begin now, and those that wait for an earlier
 * run of their call. Each handler has its own lanes and concurrency, so that one that hangs can't use up the slots of
 * its siblings.
 */
export class HandlerLanes {
  readonly handler: Handler;
  /** Whether a person has paused the handler: then nothing is added. */
  isPaused = false;
  /** The memory for the bodies of the runs. Each run counts, because each handler has a copy of the event. */
  readonly #memory: ShareOfBytes;
  readonly #ready: Run[] = [];
  /** By call. A call has a lane while one of its runs is ready or active; the list has those that follow it, if any. */
  readonly #lanes = new RenewedMap<string, Run[] | undefined>();
  /** How many runs are active, that is, in their handler. */
  #active = 0;
  /**
   * How many runs are ready or active, without those that may be poison. Runs that are being settled don't count: under
   * load there are hundreds of them, and events that arrive meanwhile would have to go through the inbox.
   */
  #size = 0;
  /** How many runs that may be poison are ready or active. */
  #poison = 0;
  readonly #maxFollowing: number;
  /** How many runs wait for another of their call. */
  #following = 0;

  /** `memory` is shared by the bodies of all handlers' runs. */
  constructor(handler: Handler, memory: SharedBytes) {
    this.#memory = memory.holder();
    this.handler = handler;
    this.#maxFollowing = maxFollowing[handler.order];
  }

  /** How many more runs may be added of calls that have no lane here. */
  get room(): number {
    if (this.#poison >= maxPoison || this.#memory.isUsedUp()) return 0;
    return Math.max(0, maxInMemory - this.#size);
  }

  /** How many bytes the bodies of added runs may have. */
  get freeBytes(): number {
    return this.#memory.free;
  }

  /**
   * Whether this many runs of calls that have no lane here may be added, while half of the memory for bodies is free, or
   * half of this handler's share of it.
   */
  hasRoom(count: number): boolean {
    if (this.#poison >= maxPoison || this.#memory.isUsedUp(1 / 2)) return false;
    return this.#size + count <= maxInMemory;
  }

  /**
   * While true, only runs that need not wait for another here may be claimed: none of the calls that have lanes, and at
   * most one of each other call. Once claimed, a stored run can't be turned away.
   */
  get isCrowded(): boolean {
    return this.#following > this.#maxFollowing / 2;
  }

  /** The calls that have lanes. */
  get calls(): readonly string[] {
    return [...this.#lanes.keys()];
  }

  /** Whether enough runs have finished to make claiming more worthwhile. */
  get isHalfEmpty(): boolean {
    return this.hasRoom(maxInMemory / 2);
  }

  /** The runs that have not begun. */
  get unbegun(): readonly Run[] {
    return [...this.#ready, ...[...this.#lanes.values()].flatMap((followers) => followers ?? [])];
  }

  /** How many runs are in the handler. */
  get active(): number {
    return this.#active;
  }

  /** Whether any run is active. */
  get isActive(): boolean {
    return this.#active > 0;
  }

  /** How many ready runs have a slot: they could begin now, were it not for the handler's rate. */
  get readyWithSlot(): number {
    return Math.min(this.#ready.length, Math.max(0, this.handler.concurrency - this.#active));
  }

  /**
   * Adds a run; false if there is no room. A stored run always finds room, unless its handler was paused meanwhile: it
   * was claimed because there was room.
   */
  add(run: Run, { isStored }: { readonly isStored: boolean }): boolean {
    const call = laneOf(run);
    const isFollowing = call !== undefined && this.#lanes.has(call);
    const isFull = isFollowing ? this.#following >= this.#maxFollowing : this.#isFullFor(run);
    if (this.isPaused || (!isStored && (isFull || this.#memory.isUsedUp()))) return false;
    this.#memory.take(run.claimed.body.byteLength);
    if (isFollowing) {
      const followers = this.#lanes.get(call) ?? [];
      followers.push(run);
      this.#lanes.set(call, followers);
      this.#following += 1;
    } else {
      if (call !== undefined) this.#lanes.set(call, undefined);
      this.#becomesReady(run);
    }
    return true;
  }

  /** Counts the memory of the body of a run that was not added, until `uncountBytes`. */
  countBytes({ claimed }: Run): void {
    this.#memory.take(claimed.body.byteLength);
  }

  /** Call it for a run that was not added, or was taken out, when it is in the inbox. */
  uncountBytes({ claimed }: Run): void {
    this.#memory.take(-claimed.body.byteLength);
  }

  /** Takes the next run, if there is one and a slot for it. Without `withPoison`, one that may not be poison. */
  next(withPoison: boolean): Run | undefined {
    if (this.#active >= this.handler.concurrency) return undefined;
    const index = withPoison ? 0 : this.#ready.findIndex(({ claimed }) => !mayBePoison(claimed));
    if (index < 0) return undefined;
    const [run] = index === 0 ? [this.#ready.shift()] : this.#ready.splice(index, 1);
    if (run) this.#active += 1;
    return run;
  }

  /** Frees the slot of a run that `next` returned. Its handler has ended, and it is yet to be settled. */
  freeSlot(run: Run): void {
    this.#active -= 1;
    this.#count(run, -1);
  }

  /** Removes a run after `freeSlot`, with the memory of its body, and makes the next run of its call ready. */
  finish(run: Run): void {
    this.#memory.take(-run.claimed.body.byteLength);
    const call = laneOf(run);
    if (call === undefined) return;
    const following = this.#lanes.get(call)?.shift();
    if (!following) return this.#lanes.delete(call);
    this.#following -= 1;
    this.#becomesReady(following);
  }

  /** Takes out the runs that wait for this run, in order. */
  takeFollowers(run: Run): readonly Run[] {
    const call = laneOf(run);
    const followers = call === undefined ? [] : (this.#lanes.get(call)?.splice(0) ?? []);
    this.#following -= followers.length;
    return followers;
  }

  /** Takes out the runs that have not begun. Those of one call are in order. */
  takeUnbegun(): readonly Run[] {
    const following = [...this.#lanes.values()].flatMap((followers) => followers?.splice(0) ?? []);
    const ready = this.#ready.splice(0);
    // The calls of active runs keep their lanes.
    for (const run of ready) {
      const call = laneOf(run);
      if (call !== undefined) this.#lanes.delete(call);
      this.#count(run, -1);
    }
    this.#following = 0;
    return [...ready, ...following];
  }

  /** Forgets the runs that have not begun. They stay claimed. */
  clear(): void {
    for (const run of this.#ready.splice(0)) this.#count(run, -1);
    this.#lanes.clear();
    this.#following = 0;
  }

  #isFullFor({ claimed }: Run): boolean {
    return mayBePoison(claimed) ? this.#poison >= maxPoison : this.#size >= maxInMemory;
  }

  #becomesReady(run: Run): void {
    this.#count(run, 1);
    this.#ready.push(run);
  }

  #count({ claimed }: Run, by: 1 | -1): void {
    if (mayBePoison(claimed)) this.#poison += by;
    else this.#size += by;
  }
}

/** The call in whose lane the run waits; undefined if runs of this handler don't wait for each other. */
function laneOf({ handler, claimed }: Run): string | undefined {
  return handler.order === 'none' ? undefined : claimed.callId;
}
