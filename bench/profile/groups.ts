/** What a receiver spends its time on. */
export type Group =
  | 'HTTP and Express'
  | 'signature'
  | 'reading'
  | 'SQLite and the inbox'
  | 'dispatch'
  | 'log'
  | 'spans'
  | 'OpenTelemetry'
  | 'the rest of the receiver'
  | 'the rest of Node'
  | 'garbage collection'
  | 'outside JavaScript'
  | 'idle';

/** The order of the groups in the results. */
export const groups: readonly Group[] = [
  'HTTP and Express',
  'signature',
  'reading',
  'SQLite and the inbox',
  'dispatch',
  'log',
  'spans',
  'OpenTelemetry',
  'the rest of the receiver',
  'the rest of Node',
  'outside JavaScript',
  'garbage collection',
  'idle',
];

/** The group of a script is that of the first pattern that its URL matches. */
const scripts: readonly (readonly [RegExp, Group])[] = [
  [/\/(src|dist)\/signature\/|\/intake\/authenticate|internal\/crypto/, 'signature'],
  [/\/(src|dist)\/(events|kit\/time)/, 'reading'],
  [/\/(src|dist)\/(store|calls)\/|\/intake\/record|better-sqlite3/, 'SQLite and the inbox'],
  [/\/(src|dist)\/dispatch\//, 'dispatch'],
  [
    /\/(src|dist)\/receiver\/telemetry|\/(pino|sonic-boom|thread-stream|pino-[a-z-]+|safe-stable-stringify)\//,
    'log',
  ],
  [/\/(src|dist)\/otel\//, 'spans'],
  [/\/@opentelemetry\//, 'OpenTelemetry'],
  [/\/(src|dist)\/(http|cli)\/|\/intake\/(accept|admit|assemble|reply)/, 'HTTP and Express'],
  [
    /node_modules\/|node:(_http|net|http|events|internal\/(streams|stream_base|http|async_hooks))|node:_?stream/,
    'HTTP and Express',
  ],
  [/\/(src|dist)\//, 'the rest of the receiver'],
  [/^node:/, 'the rest of Node'],
];

/** Names in brackets, which the profiler uses for times that are not those of a function. */
const named: Readonly<Record<string, Group>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'outside JavaScript',
  '(idle)': 'idle',
};

/** The group of a function; undefined for a native function, which belongs to the group of its caller. */
export function groupOf(functionName: string, url: string): Group | undefined {
  if (url === '') return named[functionName];
  return scripts.find(([pattern]) => pattern.test(url))?.[1];
}
