import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { checked, describe, givenText, hasMethods, parseStrictly } from '../errors/option-problems.ts';
import { Receiver } from '../receiver/receiver.ts';
import { ReceiverInApp } from './receiver-in-app.ts';

/** Options of `RingbackModule.forRoot`. */
export interface RingbackModuleOptions<Transaction> {
  /** The whole path at which, and below which, deliveries are taken. A global prefix is not added. */
  readonly path: string;
  /** A receiver made by `createReceiver`. It is started and stopped with the app. */
  readonly receiver: Receiver<Transaction>;
}

/** Options of `RingbackModule.forRootAsync`. */
export interface RingbackModuleAsyncOptions<Transaction>
  extends
    Pick<RingbackModuleOptions<Transaction>, 'path'>,
    Pick<ModuleMetadata, 'imports'>,
    Pick<FactoryProvider<Receiver<Transaction>>, 'inject' | 'useFactory'> {}

const aReceiver = 'what createReceiver has returned';

/** By its methods: the app may have another copy of the class. */
function isReceiver(value: unknown): value is Receiver {
  return hasMethods(value, ['middleware', 'start', 'stop']);
}

/** Checked at once: Nest mounts in a callback, and what that throws ends the process, or is never seen. */
const asyncOptionsSchema = z.strictObject({
  path: givenText,
  imports: z.unknown().optional(),
  inject: z.unknown().optional(),
  useFactory: z.custom<() => unknown>(
    (value) => typeof value === 'function',
    `a function that returns ${aReceiver}`,
  ),
});
const optionsSchema = asyncOptionsSchema
  .pick({ path: true })
  .extend({ receiver: checked(aReceiver, (value) => (isReceiver(value) ? value : undefined)) });

/**
 * The receiver in an app of Nest 11 or 12: it receives deliveries at a path, calls the methods that are decorated with
 * `On`, `OnCall` and `Fallback`, starts after everything else in the app, and stops before it. Any provider can have it
 * injected, as `Receiver`.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [RingbackModule.forRoot({ path: '/webhooks/calls', receiver: createReceiver({ secrets }) })],
 *   providers: [CallHandlers],
 * })
 * export class AppModule {}
 * ```
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest knows modules by their classes.
export class RingbackModule {
  /**
   * Mounts a receiver. Each app needs a receiver of its own: one that was stopped can't be started again.
   *
   * @throws ConfigError for an invalid option
   */
  static forRoot<Transaction>(options: RingbackModuleOptions<Transaction>): DynamicModule {
    const { path, receiver } = parseStrictly(optionsSchema, options, 'RingbackModule.forRoot');
    return RingbackModule.forRootAsync({ path, useFactory: () => receiver });
  }

  /**
   * Mounts a receiver that `useFactory` makes for each app, from injected providers if it needs any. If it makes none,
   * the app can't be created.
   *
   * @throws ConfigError for an invalid option
   */
  static forRootAsync<Transaction>(options: RingbackModuleAsyncOptions<Transaction>): DynamicModule {
    parseStrictly(asyncOptionsSchema, options, 'RingbackModule.forRootAsync');
    const { path, imports = [], inject = [], useFactory } = options;
    const inApp: FactoryProvider<ReceiverInApp> = {
      provide: ReceiverInApp,
      inject: [Receiver, HttpAdapterHost, DiscoveryService, ModulesContainer],
      useFactory: (
        receiver: Receiver,
        host: HttpAdapterHost,
        discovery: DiscoveryService,
        modules: ModulesContainer,
      ) => {
        if (!isReceiver(receiver))
          throw configError('option_invalid', {
            option: 'receiver in RingbackModule',
            expected: aReceiver,
            found: describe(receiver),
            fix: 'Return it from useFactory.',
          });
        // Nest calls the hooks of modules by their distance from the root. With this one, the receiver starts after,
        // and stops before, everything that its handlers use.
        const own = [...modules.values()].filter(({ metatype }) => metatype === RingbackModule);
        for (const module of own) module.distance = -1;
        // Each receiver would run all decorated methods.
        if (own.length > 1) throw configError('nest_module_repeated', { count: own.length });
        return new ReceiverInApp(receiver, { path, host, discovery });
      },
    };
    return {
      module: RingbackModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [{ provide: Receiver, inject, useFactory }, inApp],
      exports: [Receiver],
    };
  }
}
