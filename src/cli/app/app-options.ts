import { ConfigError, RingbackError, configError } from '../../errors/errors.ts';
import { defined, isObject, isThenable } from '../../kit/values.ts';
import { type AppOptions, type ReceiverOptions, resolveOptions } from '../../receiver/options.ts';
import { type DatabaseFlag, type Environment, databaseOf } from '../environment.ts';
import { hasSecrets, secretsOf } from '../secrets.ts';

/**
 * Options that an app file can't set. The log level and the inbox are set only for the command, because other commands
 * open the inbox as well.
 */
const decidedHere: Readonly<Record<string, string>> = {
  database: 'Set it by --database or RINGBACK_DATABASE, which the other commands read as well.',
  logger: 'Set its level by RINGBACK_LOG_LEVEL.',
  clock: 'It is for tests.',
  random: 'It is for tests.',
};

/** A stand-in for the environment's secrets while the app's options are checked alone. */
const someSecret = 'whsec_stand-in';

/** Checked before the command line's are added, because their problems must be fixed in the file. */
export function readAppOptions(exported: unknown, file: string): AppOptions {
  if (exported === undefined) return {};
  const where = `the options of ${file}`;
  if (!isPlain(exported)) {
    throw configError('option_invalid', {
      option: `export options in ${file}`,
      expected: "an object with options of createReceiver, such as { tolerance: '10m' }",
      found: kindOf(exported),
    });
  }
  for (const [option, fix] of Object.entries(decidedHere)) {
    if (exported[option] === undefined) continue;
    throw configError('option_invalid', {
      option: `${option} in ${where}`,
      expected: 'left out',
      found: 'set',
      fix,
    });
  }
  try {
    resolveOptions({ secrets: someSecret, ...defined(exported) });
  } catch (error) {
    if (!(error instanceof RingbackError)) throw error;
    throw new ConfigError(error.code, `${error.message} (${where})`, { cause: error });
  }
  return defined(exported);
}

/** Excludes promises and maps, which would silently count as no options at all. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isThenable(value)) return 'a promise (await it first)';
  return `of type ${isObject(value) ? value.constructor.name : typeof value}`;
}

interface ReceiverFlags extends DatabaseFlag {
  readonly trustProxy?: string;
  readonly insecureHttp?: true;
}

/** The command line takes precedence over the environment, which takes precedence over the app file. */
export function receiverOptions(
  flags: ReceiverFlags,
  environment: Environment,
  app: AppOptions = {},
): ReceiverOptions {
  const trustProxy = flags.trustProxy ?? environment.RINGBACK_TRUST_PROXY;
  const isInsecure = flags.insecureHttp ?? environment.RINGBACK_INSECURE_HTTP;
  const isByApp = !hasSecrets(environment) && (app.secrets !== undefined || app.headers !== undefined);
  return {
    ...app,
    ...(!isByApp && { secrets: secretsOf(environment) }),
    database: databaseOf(flags, environment),
    https: {
      ...app.https,
      ...(isInsecure !== undefined && { required: !isInsecure }),
      ...(trustProxy !== undefined && { trustProxy }),
    },
  };
}
