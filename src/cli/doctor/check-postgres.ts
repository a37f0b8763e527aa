import { RingbackError } from '../../errors/errors.ts';
import type { Clock } from '../../kit/clock.ts';
import {
  type ExaminedProcess,
  type PostgresExamination,
  connectionsOfProcess,
  examinePostgres,
} from '../../store/postgres/connection/examination.ts';
import {
  isRecentEnough,
  isSuitable,
  keepsAllTexts,
  oldestVersion,
} from '../../store/postgres/connection/suitable-database.ts';
import { schemaVersion } from '../../store/postgres/connection/migrations/index.ts';
import type { PostgresTarget } from '../../store/postgres/connection/target.ts';
import { inboxFinding } from './check-database.ts';
import { type Finding, ok, warning, wrong } from './findings.ts';

/** More dead tuples than this, and more than live ones, mean that vacuum doesn't keep up. */
const manyDead = 50_000;
/** How long a transaction may be open, in seconds: vacuum keeps everything that was deleted since it began. */
const longOpen = 300;
/** How far the clocks may differ, in milliseconds, beyond the uncertainty of the network. */
const clockTolerance = 2_000;

/** Whether an inbox in Postgres is usable, what is in it, and what will become a problem. */
export async function checkPostgres(target: PostgresTarget, clock: Clock): Promise<readonly Finding[]> {
  try {
    const found = await examinePostgres(target, clock);
    return [
      databaseFinding(found),
      ...(found.counts ? [inboxFinding(found.counts)] : []),
      versionFinding(found),
      permissionsFinding(found),
      durabilityFinding(found),
      isolationFinding(found),
      encodingFinding(found),
      ...(found.schema > 0 ? [tuplesFinding(found)] : []),
      transactionFinding(found),
      clockFinding(found),
      ...(found.processes ? [processesFinding(found.processes)] : []),
      connectionsFinding(found),
    ];
  } catch (error) {
    if (!(error instanceof RingbackError)) throw error;
    return [wrong('database', error.message)];
  }
}

function databaseFinding({ name, server, schema, missingPermissions }: PostgresExamination): Finding {
  if (schema > schemaVersion)
    return wrong(
      'database',
      `${name} was written by a newer version of Ringback (schema version ${schema}): run that one.`,
    );
  if (server.isReadOnly)
    return wrong('database', `${name} is read-only, like a standby: set --database to the primary.`);
  if (schema === 0 && missingPermissions.length > 0)
    return warning('database', `${name} has no inbox that the user can see: see "permissions".`);
  if (schema === 0) return ok('database', `${name} has no inbox yet: the first receiver creates it`);
  return ok('database', `${name} can be written (schema version ${schema})`);
}

function versionFinding({ server: { version, readableVersion } }: PostgresExamination): Finding {
  return isRecentEnough(version)
    ? ok('postgres', `Postgres ${readableVersion}`)
    : wrong('postgres', `Postgres ${readableVersion}: ${oldestVersion} or later is needed.`);
}

function permissionsFinding({ schema, missingPermissions }: PostgresExamination): Finding {
  const check = 'permissions';
  if (missingPermissions.length > 0) {
    const [first = '', ...others] = missingPermissions;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return wrong(check, `the user lacks: ${first}${more}. Grant it (docs/postgres.md).`);
  }
  return ok(check, schema === 0 ? 'the user may create the inbox' : 'the user may use all of the inbox');
}

function durabilityFinding({ server }: PostgresExamination): Finding {
  const { fsync, synchronousCommit: commit, hasSynchronousStandbys } = server;
  const found = `synchronous_commit is ${commit}, fsync is ${fsync}`;
  if (fsync !== 'on')
    return wrong('durability', `${found}: a crash of its machine can destroy the inbox. Set fsync to on.`);
  // Deliveries are recorded with `on` all the same. Handlers' transactions keep the default of the database.
  if (commit === 'off' || (hasSynchronousStandbys && ['local', 'remote_write'].includes(commit)))
    return warning(
      'durability',
      `${found}: deliveries are safe, but what handlers wrote in ctx.commit shortly before a crash or a failover can be undone, and is then done again. Set synchronous_commit to on.`,
    );
  return ok('durability', found);
}

function isolationFinding({ server: { isolation } }: PostgresExamination): Finding {
  const found = `statements run in ${isolation}`;
  return isSuitable(isolation)
    ? ok('isolation', found)
    : wrong(
        'isolation',
        `${found}: set default_transaction_isolation to read committed for this user (docs/postgres.md).`,
      );
}

function encodingFinding({ server: { encoding } }: PostgresExamination): Finding {
  const found = `texts are stored in ${encoding}`;
  return keepsAllTexts(encoding)
    ? ok('encoding', found)
    : wrong('encoding', `${found}: create a database with the encoding UTF8 (docs/postgres.md).`);
}

function tuplesFinding({ tuples: { dead, live } }: PostgresExamination): Finding {
  const found = `dead tuples in the inbox's tables: ${dead}, live ones: ${live}`;
  return dead > manyDead && dead > live
    ? warning('dead tuples', `${found}. Look for a transaction that stays open, and at autovacuum.`)
    : ok('dead tuples', found);
}

function transactionFinding({ server }: PostgresExamination): Finding {
  const { oldestTransaction: seconds, seesAll } = server;
  const whose = seesAll ? '' : ' of this user (grant it pg_read_all_stats to see all)';
  if (seconds === null) return ok('oldest transaction', `none is open${whose}`);
  const found = `open for ${Math.round(seconds)} s${whose}`;
  return seconds > longOpen
    ? warning(
        'oldest transaction',
        `${found}: vacuum can't remove rows that were deleted since then. Find it in pg_stat_activity, and end it.`,
      )
    : ok('oldest transaction', found);
}

function clockFinding({ clock: { ahead, roundTrip } }: PostgresExamination): Finding {
  const check = 'database clock';
  if (Math.abs(ahead) <= clockTolerance + roundTrip / 2)
    return ok(check, "this machine's clock agrees with the database's");
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  return warning(
    check,
    `this machine's clock is ${seconds} s ${ahead < 0 ? 'behind' : 'ahead of'} the database's: with several machines, ` +
      'retries run too early or too late. Synchronize both clocks with NTP.',
  );
}

/** The clocks of all live processes: the one that is wrong may be on a machine without a doctor. */
function processesFinding(processes: readonly ExaminedProcess[]): Finding {
  const check = 'process clocks';
  if (processes.length === 0) return ok(check, 'no process works on the inbox');
  const differences = processes.map(({ host, pid, ahead }) => `${host} (pid ${pid}) ${secondsAhead(ahead)}`);
  const found = `ahead of the database's: ${differences.join(', ')}`;
  return processes.some(({ ahead }) => Math.abs(ahead ?? 0) > clockTolerance)
    ? warning(check, `${found}. Retries run too early or too late: synchronize the clocks with NTP.`)
    : ok(check, found);
}

function secondsAhead(milliseconds: number | null): string {
  return milliseconds === null
    ? 'unknown before its first heartbeat'
    : `${(milliseconds / 1_000).toFixed(1)} s`;
}

function connectionsFinding({ server: { connectionsLeft } }: PostgresExamination): Finding {
  const { server, database, role } = connectionsLeft;
  const limits = [
    { left: server, name: 'max_connections' },
    { left: database ?? Infinity, name: "the database's connection limit" },
    { left: role ?? Infinity, name: "the user's connection limit" },
  ] as const;
  const { left, name } = limits.reduce((least, other) => (other.left < least.left ? other : least));
  const found = `${Math.max(0, left)} more are possible (${name}), and a process opens up to ${connectionsOfProcess}`;
  return left < connectionsOfProcess
    ? warning('connections', `${found}: raise it, or put a pooler in between.`)
    : ok('connections', found);
}
