/** The tests that every store must pass, whatever its database is. */
import { type StoreUnderTest, openedOf } from '../under-test.ts';
import { describeAlerts } from './alerts.ts';
import { describeAudit } from './audit.ts';
import { describeBeginning } from './beginning.ts';
import { describeClaiming } from './claiming.ts';
import { describeDismissing } from './dismissing.ts';
import { describeDrift } from './drift.ts';
import { describeDuplicates } from './duplicates.ts';
import { describeErasing } from './erasing.ts';
import { describeFiltering } from './filtering.ts';
import { describeHandlers } from './handlers.ts';
import { describeHistory } from './history.ts';
import { describeJoins } from './joins.ts';
import { describeLooking } from './looking.ts';
import { describeOrder } from './order.ts';
import { describeQuarantine } from './quarantine.ts';
import { describeReconciling } from './reconciling.ts';
import { describeRecording } from './recording.ts';
import { describeReplaying } from './replaying.ts';
import { describeRetention } from './retention.ts';
import { describeSettling } from './settling.ts';
import { describeSharing } from './sharing.ts';

/** The parts of the suite that one process alone can show. */
const parts = [
  describeRecording,
  describeReconciling,
  describeClaiming,
  describeSettling,
  describeOrder,
  describeBeginning,
  describeJoins,
  describeLooking,
  describeFiltering,
  describeReplaying,
  describeDismissing,
  describeQuarantine,
  describeRetention,
  describeErasing,
  describeDrift,
  describeDuplicates,
  describeHandlers,
  describeAudit,
  describeHistory,
  describeAlerts,
];

/** Runs the suite for one kind of store; `makeStore` is called anew for each test. */
export function describeStore(name: string, makeStore: () => StoreUnderTest): void {
  const opened = () => openedOf(makeStore());
  for (const describePart of parts) describePart(name, opened);
  if (makeStore().shared) describeSharing(name, makeStore);
}
