// @module-tag long
/** What an operator does with the page while others act, and while answers are late or lost. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { freePort } from '../../support/free-port.ts';
import { Gate } from '../../support/gate.ts';
import { operated } from '../../support/operated.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

/** A server whose port stays the same while it is away. */
async function serverOf(listener: RequestListener) {
  const server = createServer(listener);
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const leave = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  // Not one of the system's choosing, which it could give to another process meanwhile.
  const port = await listen(await freePort());
  onTestFinished(leave);
  return { base: `http://127.0.0.1:${port}`, leave, comeBack: () => listen(port) };
}

test('a dialog does what it has announced, whatever others do while it is open', async () => {
  const ran: string[] = [];
  let isDown = true;
  const { receiver, logs } = await started({}, (r) => {
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
      if (isDown) throw new Error('the CRM is down');
    });
    r.on('*', { name: 'charge' }, ({ traceId }) => void ran.push(traceId));
  });
  for (const traceId of ['first', 'second']) await deliver(receiver, bodyOf({ traceId }));
  await logs.until('run_dead', 2);
  await expect.poll(() => ran.length).toBe(2);
  isDown = false;
  const { page, goTo, complaints } = await open(receiver);
  const dialog = page.getByRole('dialog');

  await goTo('/events/first');
  await page.getByRole('button', { name: 'Replay…' }).click();
  await dialog.getByText('1 run of 1 event (crm: 1) would be run again.').waitFor();
  await receiver.events.replay({ traceId: 'first', state: 'dead' });
  await page.locator('.title .state-done').waitFor();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('status').getByText('Replayed: 0 runs of 0 events.').waitFor();
  expect(ran).toHaveLength(2);

  await goTo('/events/second');
  await page.getByRole('button', { name: 'Dismiss…' }).click();
  await dialog.getByLabel('Reason').fill('entered by hand');
  await receiver.events.replay({ traceId: 'second', state: 'dead' });
  await page.locator('.title .state-done').waitFor();
  expect(await dialog.getByLabel('Reason').inputValue()).toBe('entered by hand');

  await goTo('/handlers');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /^crm/ }).getByRole('button', { name: 'Pause…' }).click();
  await dialog.getByLabel('Reason').fill('the CRM moves');
  await receiver.handlers.pause('crm', { by: 'bob' });
  await page.getByText('by bob').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('crm is paused.').waitFor();
  const { handlers } = await receiver.handlers.list();
  expect(handlers.find(({ name }) => name === 'crm')?.pause).toBeDefined();
  expect(complaints).toEqual([]);
});

test('a delivery that somebody else has taken out of quarantine is not said to be discarded', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/quarantine/1');
  await page.getByRole('button', { name: 'Discard…' }).click();
  await receiver.quarantine.discard(1, { by: 'bob' });
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('status').getByText('Delivery 1 was no longer in quarantine').waitFor();
  expect(new URL(page.url()).hash).toBe('#/quarantine');
});

test('a body that is slow to come is asked for once', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  const late = new Gate();
  let asked = 0;
  await page.route('**/events/trace-ended?body=true', async (route) => {
    asked += 1;
    await late.pass();
    await route.continue();
  });
  await goTo('/events/trace-ended');
  const button = page.getByRole('region', { name: 'Body and headers' }).getByRole('button');
  await button.click();
  await late.reached;
  await button.press('Enter');
  late.open();
  await page.getByLabel('The body').waitFor();
  expect(asked).toBe(1);
  await button.click();
  await page.getByLabel('The body').waitFor({ state: 'detached' });
  expect((await receiver.audit.list()).entries).toMatchObject([{ action: 'look', what: 'trace-ended' }]);
});

test('leaving a call ends the search for its transcript, so that no body is read that nobody sees', async () => {
  const { receiver } = await started();
  const eventName = 'CallHandler.CallTransferred';
  for (const traceId of ['first', 'second'])
    await deliver(receiver, bodyOf({ traceId, callId: 'call-1', eventName }));
  const { page, goTo } = await open(receiver);
  const late = new Gate();
  await page.route('**/*?body=true', async (route) => {
    await late.pass();
    await route.continue().catch(() => {});
  });
  await goTo('/calls/call-1');
  const isLook = (request: { url(): string }) => request.url().endsWith('?body=true');
  const failed = page.waitForEvent('requestfailed', isLook);
  const ended = Promise.race([failed, page.waitForEvent('requestfinished', isLook)]);
  await page.getByRole('button', { name: 'Show transcript' }).click();
  await late.reached;
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Calls' }).click();
  await page.getByRole('heading', { name: 'Calls' }).waitFor();
  late.open();
  expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED');
});

test('closing a dialog aborts its count', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  const begun = Promise.withResolvers<void>();
  await page.route('**/api/events/replay', () => begun.resolve());
  const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events/replay'));
  await goTo('/failures');
  await page.getByRole('button', { name: 'Replay…' }).click();
  await begun.promise;
  await page.keyboard.press('Escape');
  expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED');
});

test('keys pressed right after opening a dialog go to the dialog', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/failures');
  const focused = await page.getByRole('button', { name: 'Dismiss…' }).evaluate(async (button) => {
    (button as unknown as { click: () => void }).click();
    // No further event comes before these.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    return button.ownerDocument.activeElement?.matches('dialog input');
  });
  expect(focused).toBe(true);
});

test('an invalid rate in the address is shown and refused unchanged', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/replay?state=dead&rate=abc');
  expect(await page.getByLabel('Runs a second').inputValue()).toBe('abc');
  const button = page.getByRole('button', { name: 'Show what would run' });
  await button.click();
  const refusal = await page.getByRole('alert').textContent();
  expect(refusal).toContain('rate');
  const [above, below] = [await button.boundingBox(), await page.getByRole('alert').boundingBox()];
  expect(below?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0));
  expect(refusal).toContain('but is "abc"');
  await page.getByLabel('Runs a second').fill('10');
  await button.click();
  await page.getByText('1 run of 1 event, over 100 ms').waitFor();
  // 59.6 seconds.
  await page.getByLabel('Runs a second').fill('0.01678');
  await button.click();
  await page.getByText('1 run of 1 event, over 1 min').waitFor();
});

test('a bulk replay shows no counts of earlier values', async () => {
  const { receiver } = await operated();
  await deliver(receiver, bodyOf({ callId: 'call-2' }));
  await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/replay?callId=call-1');
  const late = new Gate();
  await page.route('**/events/replay', async (route) => {
    if (route.request().postData()?.includes('call-1')) await late.pass();
    await route.continue();
  });
  const lateAnswer = page.waitForResponse(
    (answer) => answer.request().postData()?.includes('call-1') === true,
  );
  const show = page.getByRole('button', { name: 'Show what would run' });
  await show.click();
  await late.reached;
  await page.getByLabel('Call', { exact: true }).fill('call-2');
  await show.click();
  await page.getByText('1 run of 1 event').waitFor();
  late.open();
  await (await lateAnswer).finished();
  await page.getByRole('button', { name: 'Replay…' }).click();
  await page.getByRole('dialog').getByText('1 run of 1 event (crm: 1) would be run again.').waitFor();
  expect(complaints).toEqual([]);
});

test('when the answer to a change is lost, the page says that it may have been done', async () => {
  const { receiver, mend } = await operated();
  mend();
  const { page, goTo } = await open(receiver);
  await goTo('/failures');
  let changes = 0;
  await page.route('**/events/replay', async (route) => {
    if (route.request().postData()?.includes('dryRun') === true) return route.continue();
    changes += 1;
    await route.fetch();
    return route.abort();
  });
  await page.getByRole('button', { name: 'Replay…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('would be run again').waitFor();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  const said = 'The receiver does not answer. It is not known whether this was done.';
  await dialog.getByRole('alert').getByText(said).waitFor();
  expect(changes).toBe(1);
  expect((await receiver.audit.list()).entries).toMatchObject([{ action: 'replay', runs: 1 }]);
});

test('when the database fails in the middle of a change, the page says that it may have been done', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await page.route('**/handlers/crm/pause', (route) =>
    route.fulfill({ status: 503, json: { error: { code: 'database_unreachable', message: 'It is gone.' } } }),
  );
  await goTo('/handlers');
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  const said =
    'It is gone. It is not known whether this was done. Check the audit list before you try again.';
  await page.getByRole('dialog').getByRole('alert').getByText(said).waitFor();
});

test('closing a dialog while it works says what becomes of the change, and keeps the view', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  const dialog = page.getByRole('dialog');
  const [refused, done] = [new Gate(), new Gate()];
  await page.route('**/events/dismiss', async (route) => {
    if (route.request().postData()?.includes('dryRun') === true) return route.continue();
    await refused.pass();
    return route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'It failed.' } } });
  });
  await page.route('**/quarantine/1', async (route) => {
    if (route.request().method() === 'DELETE') await done.pass();
    await route.continue();
  });

  await goTo('/failures');
  await page.getByRole('button', { name: 'Dismiss…' }).click();
  await dialog.getByText('would be dismissed').waitFor();
  await dialog.getByLabel('Reason').fill('entered by hand');
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  await refused.reached;
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  refused.open();
  await page.getByRole('status').getByText('Dismiss: It failed.').waitFor();

  await goTo('/quarantine/1');
  await page.getByRole('button', { name: 'Discard…' }).click();
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await done.reached;
  expect(await dialog.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await goTo('/events');
  done.open();
  await page.getByRole('status').getByText('Discarded delivery 1.').waitFor();
  expect(new URL(page.url()).hash).toBe('#/events');
});

test('a view stays while it is refreshed, and while a proxy in front of the receiver fails', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver, () => 'all', {});
  await goTo('/');
  const nextMinute = new Gate();
  await page.route('**/history*', async (route) => {
    await nextMinute.pass();
    await route.continue();
  });
  await page.clock.setFixedTime(Date.now() + 60_000);
  await deliver(receiver, bodyOf());
  await nextMinute.reached;
  expect(await page.locator('.plots').count()).toBe(1);
  nextMinute.open();

  await goTo('/events/trace-ended');
  await page.getByRole('button', { name: 'Show body' }).click();
  await page.getByLabel('The body').waitFor();
  await page.route('**/events/trace-ended', (route) => route.fulfill({ status: 502 }));
  await deliver(receiver, bodyOf());
  const alert = page.getByRole('alert');
  await alert.getByText('answered with 502. This page tries again by itself.').waitFor();
  expect(await page.getByLabel('The body').count()).toBe(1);
  await page.unroute('**/events/trace-ended');
  await deliver(receiver, bodyOf());
  await alert.waitFor({ state: 'detached' });
});

test('what is known of the runs of a call does not wait for their failed attempts', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/calls/call-1');
  await page.locator('.drawing .mark-dead').first().waitFor();
  await page.route('**/api/events/trace-ended', () => {});
  await receiver.events.dismiss({ traceId: 'trace-ended', state: 'dead' }, { reason: 'done by hand' });
  await page.locator('.title .state-dead').waitFor({ state: 'detached' });
  expect(await page.getByRole('region', { name: 'Events' }).getByText('dead').count()).toBe(0);
});

test('while the receiver is unreachable, the page says so, and it refreshes when the receiver is back', async () => {
  const { receiver } = await operated();
  const { page } = await open(receiver);
  const served = receiver.page({ authorize: () => 'all' });
  const { base, leave, comeBack } = await serverOf(served.nodeHandler('/ops'));
  const following = page.waitForResponse('**/api/changes');
  await page.goto(`${base}/ops/#/events`);
  await page.getByText('trace-ended').waitFor();
  await following;
  await leave();
  await page
    .getByRole('alert')
    .getByText('The receiver does not answer. This page tries again by itself.')
    .waitFor();
  expect(await page.getByText('trace-ended').count()).toBe(1);
  await deliver(receiver, bodyOf({ traceId: 'trace-meanwhile' }));
  await comeBack();
  await page.getByText('trace-meanwhile').waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test.each([{ error: 'login required' }, { error: { message: 'jwt expired' } }, { message: 'no session' }])(
  'a refusal by the app in front of the receiver, in JSON of its own, is reported: %j',
  async (json) => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await page.route('**/api/quarantine?*', (route) => route.fulfill({ status: 401, json }));
    await goTo('/quarantine');
    await page
      .getByRole('alert')
      .getByText('Something in front of the receiver answered with 401.')
      .waitFor();
  },
);

test('while the receiver is stopped, a view stays and says that it is refreshed when the receiver runs', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  const following = page.waitForResponse('**/api/changes');
  await goTo('/events');
  await following;
  await receiver.stop();
  const said =
    'The receiver does not run: it is not started, is stopping, or has stopped. This page tries again by itself.';
  await page.getByRole('alert').getByText(said).waitFor();
  expect(await page.getByText('trace-ended').count()).toBe(1);
});

test('a search that takes too long is reported as such', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/events');
  await page.getByText('trace-ended').waitFor();
  await page.route('**/events?*agentId*', () => {});
  await page.route('**/events/trace-ended', () => {});
  // The page waits for half a minute; a test does not.
  await page.evaluate(
    'const { timeout } = AbortSignal; AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 100);',
  );
  const alert = page.getByRole('alert');
  await goTo('/events?agentId=agent_rare');
  await alert
    .getByText('The receiver has not answered in time. A narrower search takes less.')
    .first()
    .waitFor();
  await goTo('/events/trace-ended');
  await alert
    .getByText('The receiver has not answered in time. This page tries again by itself.')
    .first()
    .waitFor();
});

test('a stream of changes without events for too long is reconnected', async () => {
  const { receiver } = await operated();
  const { page } = await open(receiver, () => 'all', {});
  const handler = receiver.page({ authorize: () => 'all' }).nodeHandler('/ops');
  let streams = 0;
  const { base } = await serverOf((request, response) => {
    const isStream = request.url === '/ops/api/changes';
    if (!isStream || ++streams > 1) return handler(request, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  await page.clock.install();
  await page.goto(`${base}/ops/#/events`);
  await page.getByText('trace-ended').waitFor();
  await deliver(receiver, bodyOf({ traceId: 'trace-unheard' }));
  await expect.poll(() => streams).toBe(1);
  await page.clock.fastForward(20_000);
  await page.getByText('trace-unheard').waitFor();
  await expect.poll(() => streams).toBe(2);
});

test.each(['the way to a login', 'the form of a login'])(
  '%s is reported as one, until the session is back',
  async (way) => {
    const { receiver } = await operated();
    const { page } = await open(receiver);
    const handler = receiver.page({ authorize: () => 'all' }).nodeHandler('/ops');
    let isLoggedIn = true;
    const { base } = await serverOf((request, response) => {
      if (isLoggedIn) return handler(request, response);
      if (way === 'the way to a login' && request.url !== '/login')
        return void response.writeHead(302, { location: '/login' }).end();
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<form>');
    });
    await page.goto(`${base}/ops/#/events`);
    await page.getByText('trace-ended').waitFor();
    isLoggedIn = false;
    await page.getByRole('link', { name: 'Quarantine' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('you may have to log in again').waitFor();
    isLoggedIn = true;
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Delivery 1').waitFor();
  },
);
