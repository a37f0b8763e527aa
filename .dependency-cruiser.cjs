// Imports point one way: every part may use the ranks above it in this list, never those below, and the
// parts of one rank not each other. Type imports count. ARCHITECTURE.md explains the ranks.

// The files of dispatch that call its stages.
const callers = 'dispatcher|registry|claimer|placer|attempt|invocation|commit';

const ranks = [
  ['^src/kit/'],
  ['^src/errors/', '^src/events/model\\.ts$'],
  ['^src/events/(?!model\\.ts)', '^src/signature/'],
  // What a call's events add up to: the inbox keeps it, so it ranks below the inbox.
  ['^src/calls/'],
  ['^src/dispatch/(handler|outcomes)\\.ts$'],
  ['^src/store/'],
  ['^src/dispatch/run\\.ts$'],
  [
    '^src/receiver/(options|alert-options|handler-options|option-values|telemetry|database)\\.ts$',
    '^src/http/listening\\.ts$',
  ],
  [
    '^src/intake/(?!intake\\.ts)',
    `^src/dispatch/(?!(handler|outcomes|run|${callers})\\.ts)`,
    '^src/operate/',
    '^src/http/(?!listening\\.ts)',
  ],
  ['^src/intake/intake\\.ts$', `^src/dispatch/(${callers})\\.ts$`],
  ['^src/receiver/wiring\\.ts$'],
  ['^src/receiver/lifecycle\\.ts$'],
  ['^src/receiver/receiver\\.ts$'],
  ['^src/(prometheus|otel|fastify|nest)/'],
  // The platform's side: the rules below say what it may use.
  ['^src/platform/', '^src/sandbox/'],
  ['^src/index\\.ts$', '^src/cli/', '^src/testing/'],
];

const stages = {
  path: '^src/(intake|dispatch)/([^/]+)\\.ts$',
  pathNot: `^src/(intake/intake|dispatch/(${callers}))\\.ts$`,
};

// What stages look at and change, and only their callers make.
const shared = '^src/(intake/inflight-bodies|dispatch/lanes)\\.ts$';

const upward = ranks.slice(0, -1).map((paths, rank) => ({
  name: `rank-${rank}-imports-downward`,
  severity: 'error',
  comment: 'A part may import only from lower ranks.',
  from: { path: paths },
  to: { path: ranks.slice(rank + 1).flat() },
}));

module.exports = {
  forbidden: [
    ...upward,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'stages-stand-alone',
      comment:
        'A stage takes the shape before it and returns the next; only the files that call them in order know others.',
      severity: 'error',
      from: stages,
      to: {
        path: '^src/$1/',
        pathNot: [
          '^src/$1/$2\\.ts$',
          '^src/dispatch/(handler|outcomes|run|in-flight)\\.ts$',
          '^src/intake/accepted-schemes\\.ts$',
          shared,
        ],
      },
    },
    {
      name: 'of-what-they-share-stages-take-the-types-alone',
      severity: 'error',
      from: stages,
      to: { path: shared, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-platforms-side-stands-alone',
      comment: 'The client and the sandbox know nothing of the receiver, nor of each other.',
      severity: 'error',
      from: { path: '^src/(platform|sandbox)/' },
      to: {
        path: '^src/',
        pathNot: ['^src/$1/', '^src/(kit|errors|events|signature)/', '^src/http/listening\\.ts$'],
      },
    },
    {
      name: 'public-entries-are-not-imported',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        path: '^src/(index|(otel|prometheus|fastify|nest|testing|platform|sandbox|store|store/postgres)/index)\\.ts$',
      },
    },
    {
      name: 'better-sqlite3-stays-in-the-store',
      comment:
        'The lock of a secrets file keeps no data: it uses the one lock of a file that the system ends with its process.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/store/sqlite/', '^src/sandbox/', '^src/platform/secrets/file-lock\\.ts$'],
      },
      to: { path: 'better-sqlite3' },
    },
    {
      name: 'pg-stays-in-the-store',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/postgres/' },
      to: { path: 'node_modules/(@types/)?pg/' },
    },
    {
      name: 'the-client-of-prometheus-stays-in-its-folder',
      comment: 'Most do without it.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/prometheus/', '^src/cli/serve/metrics\\.ts$'] },
      to: { path: 'node_modules/@prometheus-io/' },
    },
    {
      name: 'opentelemetry-stays-in-its-folder',
      comment: 'The core knows an interface only: src/kit/tracing.ts.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/otel/' },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'what-reads-documents-stays-in-its-folder',
      comment: 'Most do without it, and it is not to meet a document outside a thread made for it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/sandbox/knowledge/reading/' },
      to: { path: 'node_modules/(unpdf|mammoth|linkedom|@mozilla/readability)/' },
    },
    {
      name: 'the-stores-stand-alone',
      comment: 'What two databases have in common lies beside their folders.',
      severity: 'error',
      from: { path: '^src/store/(sqlite|postgres)/' },
      to: { path: '^src/store/(sqlite|postgres)/', pathNot: '^src/store/$1/' },
    },
    {
      name: 'express-stays-at-the-edge',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/http/express\\.ts$', '^src/cli/', '^src/sandbox/api/'] },
      to: { path: 'node_modules/(@types/)?express' },
    },
    {
      name: 'fastify-stays-in-its-folder',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/fastify/' },
      to: { path: 'node_modules/fastify' },
    },
    {
      name: 'nest-stays-in-its-folder',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/nest/' },
      to: { path: 'node_modules/@nestjs/' },
    },
    {
      name: 'the-browser-stands-alone',
      comment:
        'What runs in the browser knows the receiver by its API only, and what is published does not know it.',
      severity: 'error',
      from: { path: '^src/operate/page/browser/' },
      to: {
        pathNot: [
          '^src/operate/page/browser/',
          'node_modules/(preact|vite|zod)/',
          '^src/operate/api/results\\.ts$',
        ],
      },
    },
    {
      name: 'of-what-the-API-answers-the-browser-takes-the-types-alone',
      severity: 'error',
      from: { path: '^src/operate/page/browser/' },
      to: {
        path: ['node_modules/zod/', '^src/operate/api/results\\.ts$'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the-browser-is-built-not-imported',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/operate/page/browser/' },
      to: { path: ['^src/operate/page/browser/', 'node_modules/(preact|vite)/'] },
    },
    {
      name: 'sqlite-is-tested-in-its-folder',
      comment: 'What is tested outside of its folder must hold for every store.',
      severity: 'error',
      from: { path: '^test/', pathNot: '^test/store/sqlite/' },
      to: { path: '^(src|test)/store/sqlite/' },
    },
    {
      name: 'nothing-unresolvable',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
