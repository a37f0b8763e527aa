import { RenewedMap } from '../kit/churn.ts';
import type { ShareOfBytes, SharedBytes } from '../kit/shared-bytes.ts';
import type { Handler } from './handler.ts';
import type { Run } from './run.ts';

/**
 * The most runs of one handler that are ready or active in memory; more wait in the inbox. It is larger than the number of
 * connections in a burst: each delivery that is being recorded reserves a slot, and an event without one has to be claimed
 * and read again, which costs as much as everything else about it.
 */
const maxInMemory = 1_000;
/**
 * The most runs that wait in memory for an earlier run of their call, by the handler's order. They are counted
 * separately, so that one busy call doesn't take the room of all others. A run that finds no room costs writes. With
 * order `strict` there are fewer, because all of them go back to the inbox when the run before them fails.
 */
const maxFollowing = { strict: 250, call: 2_000, none: 0 };

/**
 * The runs of one handler that this process has claimed: what may begin now, and what waits for an earlier
 * run of its call. Each handler has lanes and a concurrency of its own, so that one which hangs cannot use
 * up the slots of its siblings.
 */
export class Lanes {
  readonly handler: Handler;
  /** Whether a person has paused the handler: then nothing is added. */
  isPaused = false;
  /** The memory that the bodies of the runs take, each counted as often as there is a copy of its event. */
  readonly #memory: ShareOfBytes;
  readonly #ready: Run[] = [];
  /** A call has a lane while one of its runs is ready or active; the list holds those that follow it, if there are any. */
  readonly #lanes = new RenewedMap<string, Run[] | undefined>();
  /** How many runs are active: their handlers are working. */
  #active = 0;
  /**
   * How many runs are ready or active. A run whose end is still being written takes no room: under load there are
   * hundreds of those, and events that arrive meanwhile would have to go through the inbox.
   */
  #size = 0;
  readonly #maxFollowing: number;
  /** How many runs wait for another of their call. */
  #following = 0;

  /** `memory`: that for the bodies of all handlers' runs. */
  constructor(handler: Handler, memory: SharedBytes) {
    this.#memory = memory.holder();
    this.handler = handler;
    this.#maxFollowing = maxFollowing[handler.order];
  }

  /** How many more runs may be added, of calls that have no lane here. */
  get room(): number {
    return this.#memory.isUsedUp() ? 0 : Math.max(0, maxInMemory - this.#size);
  }

  /** How large the bodies of the runs that are added may be. */
  get freeBytes(): number {
    return this.#memory.free;
  }

  /** How many more runs may be added of this run's call. */
  roomFor(run: Run): number {
    const call = laneOf(run);
    const isFollowing = call !== undefined && this.#lanes.has(call);
    if (!isFollowing || this.#memory.isUsedUp()) return this.room;
    return Math.max(0, this.#maxFollowing - this.#following);
  }

  /**
   * While true, only such runs may be claimed as will not wait for another here: none of the calls that have lanes, and at most
   * one of each other call. Once claimed, a stored run can't be turned away.
   */
  get isCrowded(): boolean {
    return this.#following > this.#maxFollowing / 2;
  }

  /** The calls that have lanes. */
  get calls(): readonly string[] {
    return [...this.#lanes.keys()];
  }

  /** Whether enough has been finished to make it worth claiming more. */
  get isHalfEmpty(): boolean {
    return this.#size <= maxInMemory / 2 && this.hasBytes;
  }

  /** Whether half of the memory for bodies is free, or half of this handler's share of it. */
  get hasBytes(): boolean {
    return !this.#memory.isUsedUp(1 / 2);
  }

  /** The runs that have not begun. */
  get unbegun(): readonly Run[] {
    return [...this.#ready, ...[...this.#lanes.values()].flatMap((followers) => followers ?? [])];
  }

  /** Whether the handler is working. */
  get isActive(): boolean {
    return this.#active > 0;
  }

  /** How many runs are ready and have a slot. */
  get mayBeginNow(): number {
    return Math.min(this.#ready.length, Math.max(0, this.handler.concurrency - this.#active));
  }

  add(run: Run): void {
    const call = laneOf(run);
    if (call === undefined) return this.#enter(run);
    if (!this.#lanes.has(call)) {
      this.#lanes.set(call, undefined);
      return this.#enter(run);
    }
    const followers = this.#lanes.get(call) ?? [];
    followers.push(run);
    this.#lanes.set(call, followers);
    this.#following += 1;
  }

  /** The run is in flight: until `release`, its body is in memory. */
  hold({ claimed }: Run): void {
    this.#memory.take(claimed.body.byteLength);
  }

  /** The run is no longer in flight. */
  release({ claimed }: Run): void {
    this.#memory.take(-claimed.body.byteLength);
  }

  /** The next run that may begin, if there is one and a slot for it. */
  next(mayBegin: (run: Run) => boolean): Run | undefined {
    if (this.#active >= this.handler.concurrency) return undefined;
    const index = this.#ready.findIndex(mayBegin);
    if (index < 0) return undefined;
    const [run] = index === 0 ? [this.#ready.shift()] : this.#ready.splice(index, 1);
    this.#active += 1;
    return run;
  }

  /** Frees the slot of a run that `next` returned: its handler has ended, and only its end is yet to be written. */
  leave(): void {
    this.#active -= 1;
    this.#size -= 1;
  }

  /** Ends a run that has freed its slot, and lets the next of its call go. */
  finish(run: Run): void {
    const call = laneOf(run);
    if (call === undefined) return;
    const following = this.#lanes.get(call)?.shift();
    if (!following) return this.#lanes.delete(call);
    this.#following -= 1;
    this.#enter(following);
  }

  /** Takes out the runs that wait for a run of their call, in order. */
  takeFollowers(run: Run): readonly Run[] {
    const call = laneOf(run);
    const followers = call === undefined ? [] : (this.#lanes.get(call)?.splice(0) ?? []);
    this.#following -= followers.length;
    return followers;
  }

  /** Takes out the runs that have not begun, those of a call in their order. */
  takeWaiting(): readonly Run[] {
    const following = [...this.#lanes.values()].flatMap((followers) => followers?.splice(0) ?? []);
    const ready = this.#ready.splice(0);
    // The calls of active runs keep their lanes.
    for (const run of ready) {
      const call = laneOf(run);
      if (call !== undefined) this.#lanes.delete(call);
    }
    this.#size -= ready.length;
    this.#following = 0;
    return [...ready, ...following];
  }

  /** Takes out everything that has not begun, which stays claimed. */
  clear(): void {
    this.#ready.length = 0;
    this.#lanes.clear();
    this.#size = this.#active;
    this.#following = 0;
  }

  #enter(run: Run): void {
    this.#size += 1;
    this.#ready.push(run);
  }
}

/** The call whose runs follow each other in this handler; undefined if the run follows no other. */
function laneOf({ handler, claimed }: Run): string | undefined {
  return handler.order === 'none' ? undefined : claimed.callId;
}
