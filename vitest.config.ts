import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Every receiver with a file has a thread of its own, and many tests start processes: what was compiled once for one
// of them serves all.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

// A module that one test replaces must not be replaced for others.
const alone = ['test/sandbox/sitemaps-names.test.ts'];

// What becomes of events doesn't depend on the store: these run on both. Within them, `test.skipIf(isOnPostgres)` marks what
// is about SQLite.
const flow = ['test/{calls,dispatch,operate,promises}/**/*.test.ts'];
// These are about SQLite: its transactions, what it does about a clock that is set, and the death of processes that share a
// file. For Postgres, test/store/postgres and test/faults/postgres.test.ts are about the like. The last lines are about the
// order in which a process places what it has claimed; about how the page is served; and about what the platform answers and
// the documents say.
const onlySqlite = [
  'test/calls/{clock-set,killed,many-joins,own-tables}.test.ts',
  'test/dispatch/{commit,draining,poison,processes,threads}.test.ts',
  'test/operate/*-kill.test.ts',
  'test/promises/kept-through-kill.test.ts',
  'test/dispatch/{claimed-at-once,placer}.test.ts',
  'test/operate/page/serving.test.ts',
  'test/operate/{documented-fields,reconcile-answers}.test.ts',
];

// These show what the API answers, whose tests run on both: `npm test` leaves them out on Postgres.
const shown = ['test/operate/page/!(acting|every-view|alert-to-fix|serving).test.ts'];

// They take longest, because they wait for processes, timeouts and the packed package.
const longest = [
  'test/faults/postgres.test.ts',
  'test/package/package.test.ts',
  'test/faults/postgres-failures.test.ts',
  'test/store/postgres/claims.test.ts',
  'test/promises/kept-through-kill.test.ts',
  'test/faults/poison.test.ts',
];

/**
 * Begins with what takes longest, also where no run has left its durations, as in a clean clone: there Vitest goes by the
 * sizes of the files, and at the end one of these would keep a worker busy alone.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((file) => moduleId.endsWith(file));
      return place < 0 ? longest.length : place;
    };
    // The files of a project stay together: a worker goes on only with one of its own.
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...byProject.values()].flatMap((own) => own.toSorted((a, b) => rankOf(a) - rankOf(b)));
  }
}

export default defineConfig({
  test: {
    // They start a Postgres server, unpack a browser and pack the package when the first test asks for it.
    globalSetup: ['test/support/postgres-setup.ts', 'test/support/prepared-setup.ts'],
    setupFiles: ['test/support/writer-threads.ts'],
    tags: [
      {
        name: 'long',
        description:
          'Takes more than about half a second, and is left to `npm run test:full`: others show the same in less.',
      },
    ],
    provide: { inboxes: 'on SQLite' },
    // Files share the modules that they load: loading them for each took a fifth of the CPU.
    projects: [
      {
        extends: true,
        test: { name: 'together', include: ['test/**/*.test.ts'], exclude: alone, isolate: false },
      },
      { extends: true, test: { name: 'alone', include: alone } },
      {
        extends: true,
        test: {
          name: 'on Postgres',
          include: flow,
          exclude: [...onlySqlite, ...shown],
          isolate: false,
          provide: { inboxes: 'on Postgres' },
        },
      },
      {
        extends: true,
        test: { name: 'page', include: shown, isolate: false, provide: { inboxes: 'on Postgres' } },
      },
    ],
    // Tests wait for processes and disks more than they compute: on two cores, three workers take a fifth less time than
    // two.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Tests assert no durations: these timeouts end a test that would wait for ever, however slow and busy the machine is. No test has
    // a timeout of its own, and what a test waits for it waits for with `expect.poll`; `vi.waitFor` gives up sooner.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 500_000 } },
    // What a test leaves unhandled fails the run: a promise nobody awaited is a defect, not noise.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
