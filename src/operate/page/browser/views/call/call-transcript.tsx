/** What was said in a call. Only a transfer has a transcript: of what was said before it. */
import { useState } from 'preact/hooks';
import { useAccess } from '../../api/access.ts';
import { get, pathOf } from '../../api/client.ts';
import type { Call, Event } from '../../api/shapes.ts';
import { number, visible } from '../../parts/format.ts';
import { Pieces } from '../../parts/long-text.tsx';
import { OnRequest } from '../../parts/on-request.tsx';
import { linkTo } from '../../router.ts';

/** How many transfers are read at most: each is a look that the audit list records. */
const maxRead = 10;
/** How many turns are shown at once: a browser would lay out a hundred thousand for a minute. */
const maxTurns = 500;

interface Transcript {
  readonly traceId: string;
  readonly turns: readonly Turn[];
}

export function CallTranscript({ events }: { readonly events: Call['events'] }) {
  if (!useAccess().mayDo('bodies')) return null;
  const transfers = events.filter(({ name }) => name === 'CallHandler.CallTransferred');
  if (transfers.length === 0)
    return (
      <section>
        <h2>Transcript</h2>
        <p class="faint">No event of this call has a transcript: only a transfer contains one.</p>
      </section>
    );
  return (
    <OnRequest title="Transcript" what="transcript" load={(signal) => latestIn(transfers, signal)}>
      {(found) =>
        found ? (
          <Shown {...found} />
        ) : (
          <p class="faint">
            {transfers.length > maxRead ? `None of the latest ${maxRead} transfers` : 'No event'} of this call
            has a transcript.
          </p>
        )
      }
    </OnRequest>
  );
}

/** The transcript of the latest transfer that has one: it goes furthest. */
async function latestIn(transfers: Call['events'], signal: AbortSignal): Promise<Transcript | undefined> {
  for (const { traceId } of transfers.toReversed().slice(0, maxRead)) {
    // One after the other, so that no body is read that isn't shown.
    const { body } = await get<Event>(`/events${pathOf(traceId)}?body=true`, signal);
    const turns = transcriptIn(body);
    if (turns.length > 0) return { traceId, turns };
  }
  return undefined;
}

function Shown({ traceId, turns }: Transcript) {
  const [most, setMost] = useState(maxTurns);
  return (
    <>
      <p class="faint">
        From <a href={linkTo(['events', traceId])}>a transfer</a>: what was said before it.
      </p>
      <div class="transcript" role="region" aria-label="The transcript" tabIndex={0}>
        <ol>
          {turns.slice(0, most).map(({ role, text }, index) => (
            <li key={index}>
              {role !== undefined && (
                <strong class="long">
                  <Pieces text={visible(role)} />
                </strong>
              )}
              <p class="long">
                <Pieces text={text} />
              </p>
            </li>
          ))}
        </ol>
      </div>
      {turns.length > most && (
        <p>
          <button type="button" onClick={() => setMost(most + maxTurns)}>
            Show more
          </button>{' '}
          <span class="faint">
            {number(most)} of {number(turns.length)} are shown.
          </span>
        </p>
      )}
    </>
  );
}

/** What somebody said. */
interface Turn {
  /** Who spoke, if that is known. */
  readonly role?: string;
  readonly text: string;
}

/**
 * Finds the transcript in the body of a transfer, which is flat or has its fields in a payload. No turns if there is
 * none. One that is not a list of messages is a single turn.
 */
function transcriptIn(body: unknown): readonly Turn[] {
  if (!isRecord(body)) return [];
  const { transcript = null } = isRecord(body['payload']) ? body['payload'] : body;
  if (transcript === null) return [];
  return Array.isArray(transcript) ? transcript.map(turnOf) : [{ text: textOf(transcript) }];
}

/** A message without text is shown as it was sent. */
function turnOf(message: unknown): Turn {
  if (!isRecord(message) || typeof message['content'] !== 'string') return { text: textOf(message) };
  const { role, content } = message;
  return typeof role === 'string' ? { role, text: content } : { text: content };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
