import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import { configError } from '../errors/errors.ts';
import type { Receiver } from '../receiver/receiver.ts';
import { registrationsOf } from './decorators.ts';

/** The receiver's path, and what it needs from the app. */
interface Surroundings {
  readonly path: string;
  readonly host: HttpAdapterHost;
  readonly discovery: DiscoveryService;
}

/** One receiver in one app: mounts it, registers the decorated methods, starts and stops it. */
export class ReceiverInApp implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #receiver: Receiver;
  readonly #discovery: DiscoveryService;

  constructor(receiver: Receiver, { path, host, discovery }: Surroundings) {
    this.#receiver = receiver;
    this.#discovery = discovery;
    // As soon as there is a server: when Nest initializes the app it adds its body parsers, which would consume the
    // signed bytes. An app without a server only runs handlers.
    host.init$.subscribe(() => {
      // Nest also emits this for an app without a server.
      const adapter = host.httpAdapter as HttpAdapterHost['httpAdapter'] | null;
      adapter?.use(`/${path.replace(/^\/+/, '')}`, receiver.middleware());
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    this.#registerMethods();
    await this.#receiver.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#receiver.stop();
  }

  #registerMethods(): void {
    const seen = new Set<unknown>();
    for (const wrapper of [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]) {
      const instance: unknown = wrapper.instance;
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      const registrations = registrationsOf(instance);
      // Nest makes such a provider for each request or each injection, and events come with neither.
      if (registrations.length > 0 && (wrapper.isTransient || !wrapper.isDependencyTreeStatic()))
        throw configError('provider_not_singleton', { name: String(wrapper.name) });
      for (const register of registrations) register(this.#receiver);
    }
  }
}
