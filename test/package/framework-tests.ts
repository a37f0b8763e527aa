/**
 * A test for each framework, in JavaScript that every test runner takes: a receiver is mounted, and a delivery with a long
 * transcript is handled. `load` is a function of the test file, because a package is loaded differently in each module kind.
 */

/** The packages that the tests load. */
export const frameworkPackages = [
  '@hono/node-server',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'express',
  'express4',
  'fastify',
  'hono',
  'reflect-metadata',
  'rxjs',
];

/** What mounts and starts a receiver in each framework, and returns its server and what closes it. */
const mounts: Readonly<Record<string, string>> = {
  'Express 5': `
    const { default: express } = await load('express');
    await receiver.start();
    const server = createServer(express().use('/calls', receiver.middleware()));
    return { server, close: closing(server, receiver) };`,
  'Express 4': `
    const { default: express } = await load('express4');
    await receiver.start();
    const server = createServer(express().use('/calls', receiver.middleware()));
    return { server, close: closing(server, receiver) };`,
  Fastify: `
    const { fastify } = await load('fastify');
    const { receiverPlugin } = await load('ringback/fastify');
    const app = fastify();
    app.register(receiverPlugin, { prefix: '/calls', receiver });
    await app.ready();
    await receiver.start();
    return { server: app.server, close: closing(app.server, receiver) };`,
  Nest: `
    await load('reflect-metadata');
    const { NestFactory } = await load('@nestjs/core');
    const { RingbackModule } = await load('ringback/nest');
    const module = RingbackModule.forRoot({ path: '/calls', receiver });
    const app = await NestFactory.create(module, { logger: false, forceCloseConnections: true });
    await app.init();
    return { server: app.getHttpServer(), close: () => app.close() };`,
  'Hono on Node': `
    const { Hono } = await load('hono');
    const { createAdaptorServer } = await load('@hono/node-server');
    const app = new Hono().all('/calls', ({ env, req }) =>
      receiver.fetch(req.raw, { peerAddress: env.incoming.socket.remoteAddress }));
    await receiver.start();
    const server = createAdaptorServer({ fetch: app.fetch });
    return { server, close: closing(server, receiver) };`,
  'node:http': `
    await receiver.start();
    const server = createServer(receiver.nodeHandler());
    return { server, close: closing(server, receiver) };`,
};

/** The names of the frameworks. */
export const frameworks: readonly string[] = Object.keys(mounts);

/** The tests of these frameworks, for a file that has `test`, `assert`, `load`, `createServer`, `once` and what they use of `ringback/testing`. */
export const frameworkTests = (names: readonly string[]): string => `
const closing = (server, receiver) => async () => {
  server.close();
  server.closeAllConnections();
  await receiver.stop({ drain: 0 });
};
const mounts = {
${names.map((name) => `  '${name}': async (receiver) => {${mounts[name]}\n  },`).join('\n')}
};
for (const [name, mount] of Object.entries(mounts)) {
  test('mounted in ' + name, async () => {
    const seen = [];
    const receiver = testReceiver();
    receiver.on('CallHandler.CallEnded', (event) => { seen.push(event.payload.transcript.length); });
    const { server, close } = await mount(receiver);
    try {
      if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
      const payload = { call_id: 'call_1', agent_id: 'agent_1', status: 'success', transcript: 'x'.repeat(1_200_000) };
      const sent = buildDelivery(
        { eventName: 'CallHandler.CallEnded', traceId: 'trace-1', payload },
        { headers: { 'content-type': 'application/json' } },
      );
      const { status, body } = await deliverTo('http://127.0.0.1:' + server.address().port + '/calls', sent);
      assert.equal(status + ' ' + body.status, '200 accepted');
      await handled(receiver, 'trace-1', { within: '10m' });
      assert.deepEqual(seen, [1_200_000]);
    } finally {
      // Otherwise a test that fails would keep its process alive.
      await close();
    }
  });
}
`;
