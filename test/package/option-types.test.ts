/** What is optional may be undefined, also where TypeScript's `exactOptionalPropertyTypes` tells the two apart. */
import { expect, expectTypeOf, test } from 'vitest';
import type {
  Account,
  AlertOptions,
  AlertWebhook,
  AuditQuery,
  CallQuery,
  DismissOptions,
  ErasureTarget,
  EventFilter,
  EventQuery,
  FetchConnection,
  HandlerOptions,
  HistoryQuery,
  JoinOptions,
  QuarantineQuery,
  ReceiverOptions,
  ReconcileOptions,
  ReplayOptions,
  RetentionOptions,
  RetryOptions,
  SignOptions,
  StopOptions,
  VerifyOptions,
} from '../../src/index.ts';
import { createReceiver, sign, verify } from '../../src/index.ts';
import type { InstrumentOptions } from '../../src/otel/index.ts';
import type {
  AnalysisOptions,
  CallOptions,
  CompletedOptions,
  KnowledgeBaseFields,
  NewCustomTool,
  PageOptions,
  PlatformOptions,
  PlatformRetryOptions,
  RegistrationOptions,
  SearchOptions,
  SecretOptions,
  SitemapOptions,
  ToolMessages,
  ToolMiddlewareOptions,
  UpdateOptions,
} from '../../src/platform/index.ts';
import { createPlatform } from '../../src/platform/index.ts';
import type {
  AdversaryOptions,
  CallPlan,
  FailureOptions,
  SandboxOptions,
  TrafficOptions,
} from '../../src/sandbox/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import type { PostgresOptions } from '../../src/store/postgres/index.ts';
import type { DeliveryOptions, HandledOptions } from '../../src/testing/index.ts';
import { buildDelivery } from '../../src/testing/index.ts';

/** The optional fields that can't be given as undefined. */
type Refusing<Options> = Options extends unknown
  ? {
      [Name in keyof Options]-?: object extends Pick<Options, Name>
        ? undefined extends Required<Options>[Name]
          ? never
          : Name
        : never;
    }[keyof Options]
  : never;

type Https = NonNullable<ReceiverOptions['https']>;
type Limits = NonNullable<ReceiverOptions['limits']>;
type Paths = NonNullable<PlatformOptions['knowledgeBasePaths']>;

test('every option takes undefined, for the compiler', () => {
  expectTypeOf<Refusing<{ tolerance?: string }>>().toEqualTypeOf<'tolerance'>();
  expectTypeOf<Refusing<ReceiverOptions | Https | Limits | RetentionOptions | RetryOptions>>().toBeNever();
  expectTypeOf<
    Refusing<AlertOptions | AlertWebhook | HandlerOptions | JoinOptions | StopOptions>
  >().toBeNever();
  expectTypeOf<Refusing<CallQuery | EventFilter | EventQuery | QuarantineQuery | HistoryQuery>>().toBeNever();
  expectTypeOf<Refusing<Account | AuditQuery | DismissOptions | ReplayOptions | ErasureTarget>>().toBeNever();
  expectTypeOf<Refusing<SignOptions | VerifyOptions | ReconcileOptions | FetchConnection>>().toBeNever();
  expectTypeOf<
    Refusing<PostgresOptions | InstrumentOptions | DeliveryOptions | HandledOptions>
  >().toBeNever();
  expectTypeOf<
    Refusing<PlatformOptions | PlatformRetryOptions | Paths | CallOptions | PageOptions>
  >().toBeNever();
  expectTypeOf<Refusing<SecretOptions | UpdateOptions | SearchOptions | SitemapOptions>>().toBeNever();
  expectTypeOf<Refusing<AnalysisOptions | CompletedOptions | KnowledgeBaseFields>>().toBeNever();
  expectTypeOf<
    Refusing<NewCustomTool | RegistrationOptions | ToolMessages | ToolMiddlewareOptions>
  >().toBeNever();
  expectTypeOf<
    Refusing<SandboxOptions | AdversaryOptions | CallPlan | FailureOptions | TrafficOptions>
  >().toBeNever();
});

test('an option that is undefined counts as not set', async () => {
  const secrets = 'whsec_dGVzdA==';
  const receiver = createReceiver({
    secrets,
    headers: undefined,
    https: { required: undefined, trustProxy: undefined, hosts: undefined },
    database: ':memory:',
    limits: {
      body: undefined,
      inflight: undefined,
      bodyTimeout: undefined,
      values: undefined,
      depth: undefined,
    },
    retention: { done: undefined, dead: undefined, quarantine: undefined, traceIds: undefined },
    retry: { attempts: undefined, base: undefined, factor: undefined, cap: undefined },
    alerts: { notify: undefined, deadLetters: undefined, freeDisk: undefined, remind: undefined },
    logger: { level: 'silent' },
    clock: undefined,
    random: undefined,
  });
  receiver.on(
    '*',
    { name: 'noop', timeout: undefined, retry: { cap: undefined }, rate: undefined },
    () => {},
  );
  await receiver.start();
  const { events } = await receiver.events.list({ state: undefined, since: undefined, limit: undefined });
  expect(events).toEqual([]);
  expect((await receiver.calls.list({ agentId: undefined, since: undefined })).calls).toEqual([]);
  expect((await receiver.quarantine.list({ kind: undefined, limit: undefined })).deliveries).toEqual([]);
  await receiver.stop({ drain: undefined });

  const { headers, body } = buildDelivery('call-ended', {
    secret: secrets,
    scheme: undefined,
    callId: undefined,
  });
  const options = { signature: undefined, tolerance: undefined, now: undefined };
  expect(verify(body, headers, { secrets, ...options })).toMatchObject({ ok: true });
  expect(sign(body, { secrets, scheme: undefined, timestamp: undefined, t: undefined })).not.toEqual({});

  const sandbox = createSandbox({
    port: undefined,
    speed: undefined,
    adversary: { dropped: undefined },
    seed: undefined,
  });
  await sandbox.start();
  const { url: baseUrl, apiKey } = sandbox;
  const platform = createPlatform({
    baseUrl,
    apiKey,
    timeout: undefined,
    retry: { base: undefined },
    clock: undefined,
  });
  expect(await platform.subscriptions.count({ signal: undefined })).toEqual(expect.any(Number));
  await sandbox.stop();
});
