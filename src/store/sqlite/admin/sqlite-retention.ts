import { pause, refProcess } from '../../../kit/clock.ts';
import type { RetentionStore, Scrubbed } from '../../retention-store.ts';
import type { Session } from '../connection/session.ts';

/** The largest database that is rewritten by default, in bytes. Deliveries wait about half a second for that. */
const maxToRewrite = 128 * 1024 * 1024;
/** How long scrubbing waits for readers in other processes, and the pause between two tries, in milliseconds. */
const scrubTimeout = 5_000;
const scrubPause = 50;
/** Each step has a transaction of its own, so that no delivery shares it and the time that it takes. */
const alone = { isAlone: true };

/** Retention and erasure in SQLite. */
export const retentionOn = (session: Session): RetentionStore => ({
  async clean(limits, after) {
    const { hasWork, next } = await session.read(({ cleaning }) => cleaning.hasWork(limits, after));
    if (!hasWork) return { events: 0, runs: 0, quarantined: 0, traceIds: 0, next };
    return session.write('cleaning', 'step', [limits, after], alone);
  },

  look: (where, after) => session.read(({ erasure }) => erasure.look(where, after)),
  countCall: (callId) => session.read(({ erasure }) => erasure.countCall(callId)),
  countEvents: (sequences) => session.read(({ erasure }) => erasure.countEvents(sequences)),
  eraseCall: (callId, traceIdsUntil, last) =>
    session.write('erasure', 'eraseCall', [callId, traceIdsUntil, last], alone),
  eraseEvents: (sequences, traceIdsUntil) =>
    session.write('erasure', 'eraseEvents', [sequences, traceIdsUntil], alone),
  eraseQuarantined: (ids) => session.write('erasure', 'eraseQuarantined', [ids], alone),
  async clearUnusedGroups() {
    const hasAny = await session.read(({ erasure }) => erasure.hasUnusedGroups());
    if (hasAny) await session.write('erasure', 'clearUnusedGroups', [], alone);
  },
  eraseFailureGroups: (ids) => session.write('erasure', 'eraseFailureGroups', [ids], alone),
  eraseAudit: (ids) => session.write('erasure', 'eraseAudit', [ids], alone),

  /** Tries until no erased data is left in the files, or the time is over. */
  async compact({ rewrite, onlyIfNeeded = false }) {
    const { clock } = session;
    const { isWanted, size } = await session.read(({ scrubbing }) => scrubbing.state());
    if (onlyIfNeeded && !isWanted) return { checkpointed: true, compacted: true };
    const compact = rewrite ?? size <= maxToRewrite;
    const deadline = onlyIfNeeded ? -Infinity : clock.elapsed() + scrubTimeout;
    let compacted = false;
    for (;;) {
      const options = { compact: compact && !compacted, isRetry: onlyIfNeeded };
      const scrubbed: Scrubbed = await session.write('scrubbing', 'scrub', [options], alone);
      compacted ||= scrubbed.compacted;
      const isDone = scrubbed.checkpointed && compacted === compact;
      if (isDone || clock.elapsed() >= deadline) return { checkpointed: scrubbed.checkpointed, compacted };
      // Keeps a script alive that waits for nothing else.
      const unref = refProcess();
      await pause(clock, scrubPause);
      unref();
    }
  },
});
