import { type Clock, systemClock } from '../../kit/clock.ts';
import { createPlatform } from '../../platform/platform.ts';
import { readTarget } from '../../store/postgres/connection/target.ts';
import type { Environment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { hasSecrets } from '../secrets.ts';
import { checkAddress, checkClock, checkReceiver } from './check-address.ts';
import { checkDatabase, checkDisk } from './check-database.ts';
import { checkSecrets } from './check-secrets.ts';
import { checkLargeBody, checkLimiter, defaultBody, isByReceiver, notSent } from './check-large-body.ts';
import { checkPostgres } from './check-postgres.ts';
import { type ListSubscriptions, checkSubscription, sourcesOfOptions } from './check-subscription.ts';
import { type Finding, ok, skipped } from './findings.ts';
import { type Probe, probeClock, probeLargeBody, probeReceiver } from './probe.ts';

export interface Deployment {
  readonly database: string;
  readonly url: URL | undefined;
  readonly platform: URL | undefined;
  readonly environment: Environment;
  /** The receiver's `limits.body`, in bytes. */
  readonly body?: number | undefined;
}

/** Examines a deployment from the inside out: this machine, its address, the platform. */
export async function examine(
  deployment: Deployment,
  clock: Clock = systemClock,
): Promise<readonly Finding[]> {
  const { database, url, platform, environment } = deployment;
  const list = subscriptionsOf(deployment);
  const inside = [
    // On an older one than is needed, no command gets this far.
    ok('node', `Node ${process.versions.node}`),
    ...(await checkInbox(database, clock)),
    checkSecrets(environment),
  ];
  const answer = url && (await probeReceiver(url, clock));
  const address =
    url === undefined || answer === undefined
      ? [skipped('address', 'set --url to the address that the platform delivers to')]
      : [
          ...checkAddress(url),
          ...checkReceiver(answer, url),
          ...(await checkSize(deployment, answer, clock)),
        ];
  const platformAnswer = platform && (await probeClock(platform, clock));
  return [
    ...inside,
    ...address,
    clockFinding(platformAnswer, answer),
    ...(await checkSubscription(url, list, {
      missing: missingIn(deployment),
      hasSecrets: hasSecrets(environment),
    })),
  ];
}

/** Posts a large body, if a small one has reached a receiver. */
async function checkSize(
  { url, body = defaultBody }: Deployment,
  small: Probe,
  clock: Clock,
): Promise<readonly Finding[]> {
  if (url === undefined || !isByReceiver(small)) return [notSent, ...checkLimiter([small])];
  const large = await probeLargeBody(url, body, clock);
  return [checkLargeBody(large, small, body), ...checkLimiter([small, large])];
}

async function checkInbox(database: string, clock: Clock): Promise<readonly Finding[]> {
  const target = readTarget(database);
  return target ? checkPostgres(target, clock) : [...checkDatabase(database), checkDisk(database)];
}

/** Prefers the platform's clock, which signs. The answer from our own address often comes from this very machine. */
function clockFinding(platform: Probe | undefined, receiver: Probe | undefined): Finding {
  return platform?.kind === 'answered'
    ? checkClock(platform, "the platform's clock")
    : checkClock(receiver, 'the clock behind the public address (which may be this one)');
}

function subscriptionsOf({ platform, environment }: Deployment): ListSubscriptions | undefined {
  const apiKey = environment.RINGBACK_PLATFORM_KEY;
  if (platform === undefined || apiKey === undefined) return undefined;
  const { subscriptions } = asUsage(
    () => createPlatform({ baseUrl: platform, apiKey, retry: { attempts: 2 } }),
    sourcesOfOptions,
  );
  return () => subscriptions.list();
}

function missingIn({ url, platform, environment }: Deployment): readonly string[] {
  return [
    ...(platform === undefined ? ['--platform to the address of the platform'] : []),
    ...(environment.RINGBACK_PLATFORM_KEY === undefined ? ['RINGBACK_PLATFORM_KEY to a key for it'] : []),
    ...(url === undefined ? ['--url to the public address'] : []),
  ];
}
