import { ringbackError } from '../../errors/errors.ts';
import { withInbox } from '../inbox-file.ts';
import type { Capture } from './capture.ts';

/**
 * Deliveries in quarantine, as if they had been captured. Only some of their headers are kept, so a signature in a
 * header that neither the platform nor a known scheme uses is lost.
 *
 * @throws RingbackError `quarantine_unknown`, `quarantine_cut`
 */
export function readQuarantined(inbox: string, ids: readonly number[]): Promise<readonly Capture[]> {
  return withInbox(inbox, (store) =>
    Promise.all(
      ids.map(async (id) => {
        const kept = await store.quarantine.get(id);
        if (!kept) throw ringbackError('quarantine_unknown', { id });
        const { isCut, bytes, body } = kept;
        if (isCut) throw ringbackError('quarantine_cut', { id, bytes, kept: body.byteLength });
        return { file: `delivery ${id}`, headers: kept.headers, body: Buffer.from(body) };
      }),
    ),
  );
}
