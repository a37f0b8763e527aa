/**
 * Writes `fixtures/*.json`: deliveries as the platform sends them, and as it might send them.
 *
 *   npx node scripts/fixtures.ts            writes the files
 *   npx node scripts/fixtures.ts --check    exits 1 and names the files that differ from what this script writes
 */
import { fileURLToPath } from 'node:url';
import { eventNames } from '../src/events/names.ts';
import { endedAt, enveloped, headers, longTranscript, transfer } from './fixture-parts.ts';
import type { Fixture } from './fixture-parts.ts';
import { identities, unexpected } from './fixture-surprises.ts';
import { runGenerator } from './generated.ts';
import type { Files } from './generated.ts';

const { callStarted, callEnded, callTransferred, pcaCompleted } = eventNames;

/** An ended call that differs in its timestamp only. */
const timed = (what: string, traceId: string, timestamp: string | number) =>
  enveloped(`A call ended; the timestamp is ${what}.`, callEnded, { traceId, timestamp });

/** A flat transfer that differs in its transcript only. */
const spoken = (
  what: string,
  traceId: string,
  callId: string,
  language: string,
  contents: readonly string[],
) => ({
  description: `A call was transferred; the transcript is ${what}.`,
  headers: headers(callTransferred, traceId),
  body: transfer({
    call_id: callId,
    transcript: contents.map((content, turn) => ({ role: turn % 2 === 0 ? 'agent' : 'user', content })),
    metadata: { language },
  }),
});

/** One of each event, as documented. */
const documented: Record<string, Fixture> = {
  'call-started': enveloped('A call started.', callStarted, {
    traceId: 'trace-call-started',
    timestamp: '2026-03-02T09:14:18.000000001Z',
  }),
  'call-ended': enveloped('A call ended.', callEnded, { traceId: 'trace-call-ended' }),
  'call-transferred-flat': {
    description:
      'A call was transferred; flat, as the documented sample. Only the headers have name and trace id.',
    headers: headers(callTransferred, 'trace-call-transferred-flat'),
    body: transfer(),
  },
  'call-transferred-wrapped': enveloped('A call was transferred; in the envelope.', callTransferred, {
    traceId: 'trace-call-transferred-wrapped',
    payload: transfer(),
  }),
  'pca-completed': enveloped('Post-call analysis is ready.', pcaCompleted, {
    traceId: 'trace-pca-completed',
    timestamp: '2026-03-02T09:15:50.500000000Z',
    payload: { reason: 'analysis finished', timestamp: 1772442950500 },
  }),
};

/** All the ways to write 2026-03-02T09:15:42 UTC, each as precisely as it can. */
const timestamps: Record<string, Fixture> = {
  'timestamp-nanosecond-iso': timed('ISO 8601 with nanoseconds', 'trace-ts-ns-iso', endedAt),
  'timestamp-offset-iso': timed('ISO 8601 with an offset', 'trace-ts-offset', '2026-03-02T11:15:42.5+02:00'),
  'timestamp-seconds': timed('seconds', 'trace-ts-seconds', 1772442942),
  'timestamp-decimal-seconds': timed('seconds with decimals', 'trace-ts-decimal', 1772442942.123),
  'timestamp-milliseconds': timed('milliseconds', 'trace-ts-ms', 1772442942123),
  'timestamp-microseconds': timed('microseconds', 'trace-ts-us', 1772442942123456),
  'timestamp-digit-string-seconds': timed('seconds as a string', 'trace-ts-string-s', '1772442942'),
  'timestamp-digit-string-milliseconds': timed('ms as a string', 'trace-ts-string-ms', '1772442942123'),
  'timestamp-digit-string-microseconds': timed('µs as a string', 'trace-ts-string-us', '1772442942123456'),
  'timestamp-digit-string-nanoseconds': timed('ns as a string', 'trace-ts-string-ns', '1772442942123456789'),
  'timestamp-unreadable': timed('not a time; the header has one', 'trace-ts-unreadable', 'a moment ago'),
};

/** Texts that are not ASCII. */
const texts: Record<string, Fixture> = {
  'transcript-arabic': spoken('Arabic, right to left', 'trace-arabic', 'call_0005', 'ar-EG', [
    'مرحبًا، كيف يمكنني مساعدتك؟',
    'أريد تغيير العنوان من فضلك. رقم الطلب ١٢٣.',
  ]),
  'transcript-hebrew': spoken(
    'Hebrew, right to left, with Latin in it',
    'trace-hebrew',
    'call_0006',
    'he-IL',
    ['שָׁלוֹם, איך אפשר לעזור?', 'אני רוצה לשנות את הכתובת ב-order 4711, בבקשה.'],
  ),
  'transcript-emoji': spoken('emoji, joined and flagged', 'trace-emoji', 'call_0007', 'en-US', [
    'Good to hear from you 👋🏽',
    'My family 👩‍👩‍👧‍👦 moved 🏠➡️🏡, flag 🇫🇷, maths 𝒙 ≠ 𝒚',
  ]),
  'transcript-combining': spoken(
    'Latin with combining marks, composed and not, and line separators',
    'trace-combining',
    'call_0008',
    'vi-VN',
    [
      'Cafe\u0301 or caf\u00e9?',
      'Tie\u0302\u0301ng Vie\u0323\u0302t\u2028Z\u0335\u0321\u0322a\u0336\u0316lgo\u0000end',
    ],
  ),
};

/** One call from its start to its analysis. */
const storyCall = { call_id: 'call_story' };
const story: Record<string, Fixture> = {
  'story-1-call-started': enveloped('One call: it starts.', callStarted, {
    traceId: 'trace-story-1',
    timestamp: '2026-03-02T14:00:00.250000000Z',
    payload: storyCall,
  }),
  'story-2-call-ended': enveloped('One call: it ends after three minutes and twelve seconds.', callEnded, {
    traceId: 'trace-story-2',
    timestamp: '2026-03-02T14:03:12.750000000Z',
    payload: storyCall,
  }),
  'story-3-pca-completed': enveloped('One call: its analysis is ready nine seconds later.', pcaCompleted, {
    traceId: 'trace-story-3',
    timestamp: '2026-03-02T14:03:21.500000000Z',
    payload: { ...storyCall, reason: 'analysis finished', timestamp: 1772460201500 },
  }),
};

/** Every fixture that has a file, by its name. */
export const fixtures: Readonly<Record<string, Fixture>> = {
  ...documented,
  ...timestamps,
  ...unexpected,
  ...identities,
  ...texts,
  ...story,
};

/** Those that tests make when they need them: as a file, this one would be a quarter of the package. */
export const largeFixtures = {
  'transcript-1mb': {
    description: 'A call was transferred after a very long conversation: about 1 MB of transcript.',
    headers: headers(callTransferred, 'trace-transcript-1mb'),
    body: transfer({ call_id: 'call_0009', transcript: longTranscript(1_048_576) }),
  },
} satisfies Record<string, Fixture>;

/** The text of every fixture file, by file name. */
export function fixtureFiles(): Files {
  return new Map(
    Object.entries(fixtures).map(([name, fixture]) => [
      `${name}.json`,
      `${JSON.stringify(fixture, null, 2)}\n`,
    ]),
  );
}

if (import.meta.main) {
  runGenerator({
    folder: fileURLToPath(new URL('../fixtures', import.meta.url)),
    files: fixtureFiles(),
    command: 'npx node scripts/fixtures.ts',
  });
}
