import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type RequestListener, type Server, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Receiver } from '../../src/index.ts';
import { buildDelivery, deliverTo, testReceiver } from '../../src/testing/index.ts';
import { allNamed, type Directive, parseNginx } from './nginx-config.ts';

const file = join(import.meta.dirname, '../../examples/behind-nginx/nginx.conf');
const config = parseNginx(readFileSync(file, 'utf8'));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

describe('the example behind-nginx', () => {
  it('ends TLS and passes on to the address and path where the command listens', () => {
    const [upstream] = allNamed(config, 'upstream');
    expect(argsOf('listen')).toEqual([['443', 'ssl']]);
    expect(argsOf('location')).toEqual([['=', '/webhooks']]);
    expect(argsOf('proxy_pass')).toEqual([['http://ringback']]);
    expect(upstream?.args).toEqual(['ringback']);
    expect(argsOf('server', upstream?.block)).toEqual([['127.0.0.1:8080']]);
  });

  it('keeps its connections to the command', () => {
    expect(argsOf('keepalive')).toEqual([['64']]);
    expect(argsOf('proxy_http_version')).toEqual([['1.1']]);
    expect(argsOf('proxy_set_header')).toContainEqual(['Connection', '']);
  });

  it('passes on bodies of the size that Ringback accepts', () => {
    expect(argsOf('client_max_body_size')).toEqual([['5m']]);
  });

  it('makes Ringback accept what came over HTTPS', async () => {
    const url = await proxyTo(await startReceiver(), 'https');
    expect(await deliverTo(url, buildDelivery('call-ended', fromOutside()))).toMatchObject({ status: 200 });
  });

  it('lets no client claim HTTPS that it did not use', async () => {
    const url = await proxyTo(await startReceiver(), 'http');
    for (const header of [{ 'x-forwarded-proto': 'https' }, { forwarded: 'proto=https' }]) {
      const delivery = buildDelivery('call-ended', fromOutside(header));
      expect(await deliverTo(url, delivery)).toEqual({ status: 403, body: { error: 'https_required' } });
    }
  });

  it("doesn't let a client's own headers get in the way", async () => {
    const url = await proxyTo(await startReceiver(), 'https');
    for (const header of [{ 'x-forwarded-proto': 'http' }, { forwarded: 'proto=http;host=10.0.0.1' }]) {
      const delivery = buildDelivery('call-ended', fromOutside(header));
      expect(await deliverTo(url, delivery)).toMatchObject({ status: 200 });
    }
  });

  it('lets no client claim another host', async () => {
    const receiver = await startReceiver(['calls.example.com']);
    const url = await proxyTo(receiver, 'https', 'other.example.com');
    const delivery = buildDelivery('call-ended', fromOutside({ 'x-forwarded-host': 'calls.example.com' }));
    expect(await deliverTo(url, delivery)).toEqual({ status: 421, body: { error: 'host_not_allowed' } });
  });

  it.skipIf(!hasNginx())('is accepted by nginx itself', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ringback-nginx-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const key = join(folder, 'key.pem');
    const certificate = join(folder, 'certificate.pem');
    const subject = ['-subj', '/CN=calls.example.com', '-keyout', key, '-out', certificate];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], { stdio: 'pipe' });
    const text = readFileSync(file, 'utf8')
      .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
      .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`)
      .replace(/pid .*;/, `pid ${join(folder, 'nginx.pid')};`)
      // The usual log and port belong to root, and the port may be in use.
      .replace('http {', `http {\naccess_log ${join(folder, 'access.log')};`)
      .replace('listen 443 ssl;', `listen unix:${join(folder, 'socket')} ssl;`);
    const copy = join(folder, 'nginx.conf');
    writeFileSync(copy, text);
    expect(() => execFileSync('nginx', ['-t', '-c', copy], { stdio: 'pipe' })).not.toThrow();
  });
});

/** The arguments of each directive of that name. */
function argsOf(name: string, block: readonly Directive[] = config) {
  return allNamed(block, name).map(({ args }) => args);
}

function fromOutside(headers: Record<string, string> = {}) {
  return { headers };
}

async function startReceiver(hosts?: string[]): Promise<Receiver> {
  const receiver = testReceiver({ https: { trustProxy: 'loopback', ...(hosts && { hosts }) } });
  await receiver.start();
  cleanups.push(() => receiver.stop());
  return receiver;
}

/** A proxy that changes headers as the configuration says, as if a client had connected with this scheme. */
async function proxyTo(receiver: Receiver, scheme: string, host = 'calls.example.com'): Promise<string> {
  const behind = await listen(receiver.nodeHandler());
  const variables: Record<string, string> = { $host: host, $scheme: scheme };
  const rules = allNamed(config, 'proxy_set_header');
  const proxy = await listen((incoming, response) => {
    const headers = withRules(incoming, rules, variables);
    const onward = request(
      { host: '127.0.0.1', port: behind, method: incoming.method, path: incoming.url, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    incoming.pipe(onward);
  });
  return `http://127.0.0.1:${proxy}/webhooks`;
}

/** Sets headers as nginx does: it replaces a header that it sets, and removes one whose value is empty. */
function withRules(
  { headers }: IncomingMessage,
  rules: readonly Directive[],
  variables: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const passed = { ...headers } as Record<string, string | string[]>;
  for (const { args } of rules) {
    const [name = '', value = ''] = args;
    delete passed[name.toLowerCase()];
    const filled = variables[value] ?? value;
    if (filled !== '') passed[name.toLowerCase()] = filled;
  }
  return passed;
}

async function listen(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}
