import { describe, expect, it } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { HostedCommand, Running, folder, otherSecret, ringback, secret, serve } from './command.ts';

const token = 'a token that nobody can guess';
const change = {
  method: 'POST',
  headers: { 'x-ringback-request': '1', 'content-type': 'application/json' },
};
const mended = "export default (r) => r.on('*', { name: 'crm' }, () => {});";

/** The header of basic authentication. */
function as(user: string, password = token): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

describe('serve --page', () => {
  it('lets in a user with the token, and audits changes under their name', { tags: 'long' }, async () => {
    const running = serve(['--page', '--app', 'app.mjs'], {
      env: { RINGBACK_PAGE_TOKEN: token },
      cwd: folder({ 'app.mjs': mended }),
    });
    const url = `${await running.url()}/ringback`;
    expect(await running.logged('listening')).toMatchObject({ path: '/webhooks', page: '/ringback' });
    const document = await fetch(url, { headers: as('ann') });
    expect(document.status).toBe(200);
    expect(document.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await document.text()).toContain('<script type="module"');
    const paused = await fetch(`${url}/api/handlers/crm/pause`, {
      ...change,
      headers: { ...change.headers, ...as('ann') },
    });
    expect(paused.status).toBe(200);
    const audit = await fetch(`${url}/api/audit`, { headers: as('bob') });
    expect(await audit.json()).toMatchObject({ entries: [{ action: 'pause', by: 'ann' }] });
  });

  it('asks all others for it, at every address', { tags: 'long' }, async () => {
    const url = await serve(['--page'], { env: { RINGBACK_PAGE_TOKEN: token } }).url();
    const refused = [{}, as('ann', ''), as('ann', `${token} `), as('ann', token.slice(1)), as('')];
    const bearer = { authorization: `Bearer ${token}` };
    for (const headers of [...refused, bearer, { authorization: 'Basic %%%' }])
      for (const path of ['/ringback', '/ringback/', '/RINGBACK/api/counts', '/ringback/api/changes']) {
        const answer = await fetch(`${url}${path}`, { headers });
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toBe('Basic realm="Ringback", charset="UTF-8"');
        expect(await answer.text()).not.toContain(token);
      }
    const changing = await fetch(`${url}/ringback/api/handlers/crm/pause`, change);
    expect(changing.status).toBe(401);
  });

  it('is not there without the flag', async () => {
    const url = await serve([], { env: { RINGBACK_PAGE_TOKEN: token } }).url();
    expect((await fetch(`${url}/ringback`, { headers: as('ann') })).status).toBe(404);
  });
});

/** An inbox with one event, whose handler has failed for good, and the app that handles it well. */
async function inboxWithDeadLetter(): Promise<string> {
  const cwd = folder({
    'broken.mjs':
      "export default (r) => r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => { throw new Error('no'); });",
    'mended.mjs': mended,
  });
  const running = serve(['--app', 'broken.mjs'], { cwd });
  await deliverTo(`${await running.url()}/webhooks`, buildDelivery('call-ended', { secret }));
  await running.logged('run_dead');
  await running.stop();
  return cwd;
}

describe('page', () => {
  it('shows an inbox without its receiver at an unguessable address, and allows what needs no app and no secrets', async () => {
    const cwd = await inboxWithDeadLetter();
    const running = new Running(['page', '--by', 'ann'], { cwd });
    const url = (await running.line('http://127.0.0.1')).trim();
    expect((await fetch(url)).status).toBe(200);
    for (const path of ['/', '/api/counts', `/${'0'.repeat(32)}/`])
      expect((await fetch(new URL(path, url))).status).toBe(404);
    expect(await (await fetch(`${url}api/counts`)).json()).toMatchObject({ runs: { dead: 1 } });
    expect(await (await fetch(`${url}api/access`)).json()).toEqual({
      by: 'ann',
      actions: ['look', 'bodies', 'dismiss', 'erase', 'pause'],
      now: expect.any(String),
    });
    expect((await fetch(`${url}api/events/replay`, change)).status).toBe(403);
    running.child.kill('SIGINT');
    expect(await running.ended()).toMatchObject({ code: 0, stdout: url });
  });

  it(
    'replays with the handlers of the app, beside the receiver that then runs them',
    { tags: 'long' },
    async () => {
      const cwd = await inboxWithDeadLetter();
      const receiving = serve(['--app', 'mended.mjs'], { cwd });
      await receiving.url();
      const env = { RINGBACK_SECRETS: secret };
      const running = new HostedCommand(['page', '--app', 'mended.mjs'], { cwd, env });
      const url = (await running.line('http://127.0.0.1')).trim();
      const replayed = await fetch(`${url}api/events/replay`, {
        ...change,
        body: JSON.stringify({ filter: { state: 'dead' } }),
      });
      expect(await replayed.json()).toMatchObject({ runs: 1 });
      await receiving.logged('run_done');
    },
  );

  it('says of no handler that it runs because the app has it', { tags: 'long' }, async () => {
    const running = new HostedCommand(['page', '--app', 'mended.mjs'], { cwd: await inboxWithDeadLetter() });
    const url = (await running.line('http://127.0.0.1')).trim();
    const answer = await fetch(`${url}api/handlers`);
    expect(await answer.json()).toMatchObject({ handlers: [{ name: 'crm', dead: 1, isRegistered: false }] });
  });

  it('checks what is in quarantine again, with the secrets of the receiver', { tags: 'long' }, async () => {
    const cwd = folder();
    const receiving = serve([], { cwd, env: { RINGBACK_SECRETS: otherSecret } });
    const delivery = buildDelivery('call-ended', { secret });
    expect((await deliverTo(`${await receiving.url()}/webhooks`, delivery)).status).toBe(401);
    const signatureBy = async (page: HostedCommand) => {
      const url = (await page.line('http://127.0.0.1')).trim();
      return { url, signature: await (await fetch(`${url}api/quarantine/1/signature`)).json() };
    };
    const blind = await signatureBy(new HostedCommand(['page'], { cwd }));
    expect(blind.signature).toMatchObject({ status: 'secrets_not_set' });
    const running = new HostedCommand(['page'], { cwd, env: { RINGBACK_SECRETS: secret } });
    const { url, signature } = await signatureBy(running);
    expect(signature).toMatchObject({ status: 'verifies' });
    const answer = await fetch(`${url}api/quarantine/reverify`, change);
    expect(await answer.json()).toMatchObject({ released: 1 });
  });

  it(
    'checks what is in quarantine at the first look, with secrets that take a while',
    { tags: 'long' },
    async () => {
      const app = `export const options = {
      secrets: () => new Promise((resolve) => setTimeout(resolve, 700, ['${secret}'])),
    };
    export default () => {};`;
      const cwd = folder({ 'slow.mjs': app });
      const receiving = serve([], { cwd, env: { RINGBACK_SECRETS: otherSecret } });
      const delivery = buildDelivery('call-ended', { secret });
      expect((await deliverTo(`${await receiving.url()}/webhooks`, delivery)).status).toBe(401);
      const running = new HostedCommand(['page', '--app', 'slow.mjs'], { cwd });
      const url = (await running.line('http://127.0.0.1')).trim();
      const answer = await fetch(`${url}api/quarantine/1/signature`);
      expect(await answer.json()).toMatchObject({ status: 'verifies' });
    },
  );

  it('refuses what holds no inbox, in a sentence', async () => {
    const { code, stderr } = await ringback(['page', '--database', 'elsewhere.db']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ringback: .*elsewhere\.db.*there is no such file.*\n$/);
  });
});
