import { Body, Controller, Injectable, Module, type ModuleMetadata, Post, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { expect, onTestFinished, test } from 'vitest';
import { Fallback, On, OnCall, RingbackModule } from '../../src/nest/index.ts';
import { bodyOf, deliver, post } from '../support/deliveries.ts';
import type { CallEvent, EventOf, FallbackContext, JoinedCall, RunContext } from '../support/public.ts';
import { Receiver } from '../support/public.ts';
import { made } from '../support/receiver.ts';

const loopback = { https: { required: false } };
const path = '/webhooks/calls';

/** The module of an app with a receiver in it. */
function moduleWith(receiver: Receiver, metadata: ModuleMetadata) {
  const imports = [RingbackModule.forRoot({ path, receiver }), ...(metadata.imports ?? [])];
  @Module({ ...metadata, imports })
  class AppModule {}
  return AppModule;
}

async function created(receiver: Receiver, metadata: ModuleMetadata) {
  const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
  const app = await NestFactory.create(moduleWith(receiver, metadata), options);
  onTestFinished(() => app.close());
  return app;
}

test('methods of providers are handlers, and body parsers see no delivery', { tags: 'long' }, async () => {
  const handled: string[] = [];
  class Base {
    @On('CallHandler.CallEnded', { name: 'ended' })
    ended({ payload }: EventOf<'CallHandler.CallEnded'>, { attempt }: RunContext) {
      handled.push(`${this.name} ${payload.call_id} ${attempt}`);
    }

    @Fallback()
    rest({ eventName }: CallEvent, { isKnown }: FallbackContext) {
      handled.push(`${this.name} ${eventName} ${isKnown}`);
    }

    @OnCall({ name: 'both', events: ['CallHandler.CallEnded', 'own'], within: '1m' })
    both({ callId, complete }: JoinedCall) {
      handled.push(`${this.name} ${callId} ${complete}`);
    }

    protected get name() {
      return 'base';
    }
  }
  @Injectable()
  class Handlers extends Base {
    protected override get name() {
      return 'handlers';
    }
  }
  @Controller()
  class Other {
    @Post('other')
    echo(@Body() body: unknown): unknown {
      return body;
    }
  }
  const { receiver, logs } = made(loopback);
  const app = await created(receiver, { providers: [Handlers], controllers: [Other] });
  app.setGlobalPrefix('api');
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const long = bodyOf({ callId: 'call-1', payload: { transcript: 'x'.repeat(1_200_000) } });
  expect((await post(`${url}${path}`, long)).json.status).toBe('accepted');
  for (const eventName of ['own', 'another'])
    expect((await post(`${url}${path}`, bodyOf({ eventName, callId: 'call-1' }))).status).toBe(200);
  await logs.until('run_done', 3);
  expect(handled.toSorted()).toEqual(['handlers another false', 'handlers call-1 1', 'handlers call-1 true']);
  const headers = { 'content-type': 'application/json' };
  expect((await post(`${url}/api/other`, '{"a":1}', headers)).json).toEqual({ a: 1 });
});

test('a receiver is started after everything else and stopped before it', async () => {
  const order: string[] = [];
  const { receiver, logs } = made(loopback);
  const note = (name: string) =>
    order.push(`${name}${receiver.isReady ? ', while deliveries are taken' : ''}`);
  class Connection {
    onApplicationBootstrap() {
      note('connected');
    }
    onModuleDestroy() {
      note('disconnected');
    }
  }
  @Module({ providers: [Connection] })
  class Connections {}
  const app = await created(receiver, {
    imports: [Connections],
    providers: [{ provide: 'own', useClass: Connection }],
  });
  await app.init();
  expect(receiver.isReady).toBe(true);
  await app.close();
  expect(order).toEqual(['connected', 'connected', 'disconnected', 'disconnected']);
  expect(logs.of('receiver_stopped')).toHaveLength(1);
});

test('an app without a server runs handlers', async () => {
  const handled: string[] = [];
  class Handlers {
    @On('CallHandler.CallEnded', { name: 'ended' })
    ended({ payload }: EventOf<'CallHandler.CallEnded'>) {
      handled.push(payload.call_id);
    }
  }
  const { receiver, logs } = made(loopback);
  const AppModule = moduleWith(receiver, { providers: [Handlers] });
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  await deliver(receiver, bodyOf({ callId: 'call-1' }));
  await logs.until('run_done');
  expect(handled).toEqual(['call-1']);
});

test('a testing module has a receiver of its own', async () => {
  const { receiver: replaced } = made(loopback);
  const { receiver } = made(loopback);
  const AppModule = moduleWith(replaced, {});
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(Receiver)
    .useValue(receiver)
    .compile();
  const app = module.createNestApplication({ logger: false, forceCloseConnections: true });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  expect((await post(`${await app.getUrl()}${path}`)).json.status).toBe('accepted');
  expect([receiver.isReady, replaced.isReady]).toEqual([true, false]);
});

test.each([
  ['for each request', Scope.REQUEST],
  ['for each that has it injected', Scope.TRANSIENT],
])('a provider that is made %s is refused', async (_, scope) => {
  @Injectable({ scope })
  class Handlers {
    @On('*')
    all() {}
  }
  const { receiver } = made(loopback);
  const app = await created(receiver, { providers: [Handlers] });
  await expect(app.init()).rejects.toMatchObject({
    code: 'provider_not_singleton',
    message: expect.stringContaining('The provider Handlers has handlers'),
  });
});

test('a second module is refused, because each receiver would run all methods', async () => {
  const [first, second] = [made(loopback), made(loopback)];
  const imports = [RingbackModule.forRoot({ path: '/other', receiver: second.receiver })];
  await expect(created(first.receiver, { imports })).rejects.toMatchObject({
    code: 'nest_module_repeated',
    message: expect.stringContaining('but imports it 2 times'),
  });
});

test.each([
  ['no path', {}],
  ['an empty path, below which everything is', { path: '' }],
])('%s is refused where the module is imported', (_, wrong: object) => {
  const { receiver } = made(loopback);
  const refused = 'The option path in RingbackModule.forRoot should be text that is not empty';
  expect(() => RingbackModule.forRoot({ receiver, ...wrong } as never)).toThrow(refused);
  const useFactory = () => receiver;
  expect(() => RingbackModule.forRootAsync({ useFactory, ...wrong } as never)).toThrow(
    refused.replace('forRoot', 'forRootAsync'),
  );
});

test('a module without a receiver is refused', async () => {
  const refused = 'should be what createReceiver has returned, but is undefined';
  expect(() => RingbackModule.forRoot({ path } as never)).toThrow(
    `The option receiver in RingbackModule.forRoot ${refused}`,
  );
  @Module({ imports: [RingbackModule.forRootAsync({ path, useFactory: () => undefined as never })] })
  class AppModule {}
  const creating = NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await expect(creating).rejects.toThrow(
    `The option receiver in RingbackModule ${refused}. Return it from useFactory.`,
  );
});

test('a static method is refused where it is decorated', () => {
  expect(() => {
    class Handlers {
      @On('*', { name: 'all' })
      static all() {}

      other() {}
    }
    return Handlers;
  }).toThrow('but found the static method all. Decorate a method of the instances.');
});

test('a decorator that was not compiled as Nest needs it says what to set', () => {
  const on = On('*', { name: 'all' }) as unknown as (method: () => void, context: object) => void;
  expect(() => on(() => {}, { kind: 'method', name: 'all', static: false })).toThrow(
    'but found a decorator by the standard on all. Set experimentalDecorators in tsconfig.json',
  );
});

test('the compiler refuses a method that takes something else', () => {
  class Handlers {
    // @ts-expect-error The event of another name has another payload.
    @On('CallHandler.CallTransferred')
    transferred(_event: EventOf<'CallHandler.CallEnded'>) {}

    // @ts-expect-error A handler gets a context, and no text.
    @On('*')
    all(_event: CallEvent, _context: string) {}

    @On('CallHandler.CallEnded')
    async onPostgres(_event: CallEvent, context: RunContext<{ query(sql: string): Promise<void> }>) {
      await context.commit((tx) => tx.query('select 1'));
    }
  }
  expect(Object.getOwnPropertyNames(Handlers.prototype)).toContain('all');
});
