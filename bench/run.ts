/**
 * The benchmark. `npm run bench` compares servers in full, `npm run bench -- --quick` in under a minute. `--large`,
 * `--memory`, `--slow-disk`, `--bodies`, `--profile`, `--peers`, `--postgres`, `--operate`, `--views`, `--bloat`,
 * `--retention` and `--knowledge` are separate measurements. bench/README.md says what is measured and when a run is
 * valid.
 */
import { parseArgs } from 'node:util';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
    'slow-disk': { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    operate: { type: 'boolean', default: false },
    views: { type: 'boolean', default: false },
    bodies: { type: 'boolean', default: false },
    knowledge: { type: 'boolean', default: false },
    bloat: { type: 'string' },
    retention: { type: 'boolean', default: false },
    only: { type: 'string' },
    heap: { type: 'string' },
    events: { type: 'string' },
  },
});

// An orderly exit removes the databases, which may have many gigabytes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

if (flags.large) {
  const { measureLarge } = await import('./large/large.ts');
  await measureLarge(flags.events);
} else if (flags.memory) {
  const { measureMemory } = await import('./large/memory.ts');
  await measureMemory(flags.events);
} else if (flags['slow-disk']) {
  const { measureSlowDisk } = await import('./slow-disk/slow-disk.ts');
  await measureSlowDisk();
} else if (flags.operate) {
  const { measureOperated } = await import('./operate/operate.ts');
  await measureOperated({ isQuick: flags.quick });
} else if (flags.views) {
  const { measureViews } = await import('./operate/first-view.ts');
  await measureViews(flags.events);
} else if (flags.bodies) {
  const { measureBodies } = await import('./bodies.ts');
  await measureBodies(flags.only, flags.heap === undefined ? [] : [`--max-old-space-size=${flags.heap}`]);
} else if (flags.knowledge) {
  const { measureKnowledge } = await import('./knowledge/knowledge.ts');
  await measureKnowledge({ isQuick: flags.quick });
} else if (flags.bloat !== undefined) {
  const { measureBloat } = await import('./postgres/bloat.ts');
  await measureBloat(Number(flags.bloat));
} else if (flags.retention) {
  const { measureRetention } = await import('./postgres/retention.ts');
  await measureRetention();
} else if (flags.profile) {
  const { profile } = await import('./profile/profile.ts');
  await profile();
} else if (flags.peers) {
  const { comparePeers, onFile } = await import('./peers/peers.ts');
  await comparePeers(onFile, { isQuick: flags.quick });
} else if (flags.postgres) {
  const { comparePeers } = await import('./peers/peers.ts');
  const { onPostgres } = await import('./postgres/postgres.ts');
  await comparePeers(onPostgres(Number(flags.events ?? 5_000_000)), { isQuick: flags.quick });
} else {
  const { compare } = await import('./compare/compare.ts');
  await compare({ isQuick: flags.quick });
}
