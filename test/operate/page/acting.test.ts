/** What an operator does with the page, and what an attacker can't do to it. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../../support/deliveries.ts';
import { beginElsewhere } from '../../store/parts.ts';
import { isOnPostgres, withStore } from '../../support/inbox.ts';
import { operated } from '../../support/operated.ts';
import { type Action, Discard } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

test('a dead letter is found, understood, replayed and gone', async () => {
  const { receiver, mend } = await operated();
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/');
  await page.getByRole('link', { name: /^Dead letters/ }).click();
  await page.getByRole('link', { name: 'latest event' }).click();
  await page.getByText('the CRM is down').first().waitFor();
  mend();
  await page.getByRole('button', { name: 'Replay…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 run of 1 event (crm: 1) would be run again.').waitFor();
  await dialog.getByLabel('Reason').fill('the CRM is back');
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('status').getByText('Replayed: 1 run of 1 event').waitFor();
  await page.locator('main table .state-done').waitFor();
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Failures' }).click();
  await page.getByText('Nothing fails.').waitFor();
  expect((await receiver.counts()).runs.dead).toBe(0);
  expect(complaints).toEqual([]);
});

// Whichever store it comes from, it looks the same.
const onSqlite = test.skipIf(isOnPostgres);

onSqlite('a dead letter is replayed by keyboard alone', async () => {
  const { receiver, mend } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/events');
  await page.keyboard.press('/');
  await page.keyboard.type('trace-ended');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await tabTo(page, 'CallHandler.CallEnded');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Replay…' }).waitFor();
  mend();
  await tabTo(page, 'Replay…');
  await page.keyboard.press('Enter');
  await page.getByText('would be run again').waitFor();
  await page.keyboard.type('by keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Replayed').waitFor();
  expect(await focused(page)).toBe('CallHandler.CallEnded');
  await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(0);
});

test(
  'the first stop of the keyboard skips to the content, and a dialog is left by Escape',
  { tags: 'long' },
  async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/failures');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('Failures');
    await tabTo(page, 'Dismiss…');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('Dismiss…');
  },
);

test(
  'when the focused element disappears, the focus moves to the top of the view',
  { tags: 'long' },
  async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/events?traceId=trace-ended');
    await page.getByRole('link', { name: 'Clear' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Events');
    await page.locator('tbody').getByRole('link', { name: 'CallHandler.CallEnded' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Failed attempts of crm').waitFor();
    await expect.poll(() => focused(page)).toBe('CallHandler.CallEnded');

    await page.getByRole('button', { name: 'Show body' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('The body').waitFor();
    expect(await focused(page)).toBe('Hide body');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('Show body');

    await goTo('/quarantine/1');
    await page.getByRole('button', { name: 'Release…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await focused(page)).toBe('Release');
  },
);

/** Goes on by Tab until something is reached. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let stops = 0; stops < 100; stops += 1) {
    if ((await focused(page)) === text) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${text}.`);
}

function focused(page: Page): Promise<string> {
  return page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''");
}

describe('changing', () => {
  test('a group of dead letters is dismissed, with its reason', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/failures');
    await page.getByRole('button', { name: 'Dismiss…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 run of 1 event (crm: 1) would be dismissed.').waitFor();
    const button = dialog.getByRole('button', { name: 'Dismiss' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Reason').fill('done by hand');
    await button.click();
    await page.getByText('Nothing fails.').waitFor();
    expect((await receiver.events.get('trace-ended'))?.runs[0]?.reason).toContain('done by hand');
  });

  test('a group of failures shows its last day, and is muted and unmuted', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo, complaints } = await open(receiver);
    await goTo('/failures');
    await page.getByRole('img', { name: /failed attempts? in the last day/ }).waitFor();
    await page.getByRole('button', { name: 'Mute…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('known');
    await dialog.getByRole('button', { name: 'Mute' }).click();
    await page.getByText('muted', { exact: true }).waitFor();
    expect((await receiver.failures.list())[0]?.mutedAt).toBeInstanceOf(Date);
    await page.getByRole('button', { name: 'Unmute…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unmute' }).click();
    await page.getByRole('button', { name: 'Mute…' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a dialog that is opened as another closes stays open', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/failures');
    await page.getByRole('button', { name: 'Mute…' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('of the first');
    // The browser tells of the end of the first when the second is open.
    await page.evaluate(`
      document.querySelector('dialog').close();
      [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Dismiss…').click()`);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Dismiss 1 dead letter of crm?' }).waitFor();
    await dialog.getByText('would be dismissed').waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('');
  });

  test('a group of more dead letters than are counted says so', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    const groups = (await receiver.failures.list()).map((group) => ({ ...group, dead: 10_000 }));
    await page.route('**/api/failures', (route) => route.fulfill({ json: { groups } }));
    await goTo('/failures');
    await page.getByText('10,000 or more dead').waitFor();
    await page.getByRole('button', { name: 'Dismiss…' }).click();
    await page.getByRole('heading', { name: 'Dismiss 10,000 or more dead letters of crm?' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('a bulk replay shows what would run before it runs', { tags: 'long' }, async () => {
    const { receiver, mend } = await operated();
    const { page, goTo } = await open(receiver);
    mend();
    await goTo('/replay?state=dead');
    await page.getByLabel('Runs a second').fill('10');
    await page.getByRole('button', { name: 'Show what would run' }).click();
    await page.getByText('1 run of 1 event, over 100 ms').waitFor();
    expect((await receiver.counts()).runs.dead).toBe(1);
    await page.getByRole('button', { name: 'Replay…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('would be run again').waitFor();
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('status').getByText('Replayed').waitFor();
    await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(0);
  });

  test('a group of failures is replayed at a rate', { tags: 'long' }, async () => {
    const { receiver, mend } = await operated();
    const { page, goTo } = await open(receiver);
    mend();
    await goTo('/failures');
    await page.getByRole('link', { name: 'replay at a rate' }).click();
    await page.getByLabel('Runs a second').fill('10');
    await page.getByRole('button', { name: 'Show what would run' }).click();
    await page.getByText('1 run of 1 event, over 100 ms').waitFor();
    const [group] = await receiver.failures.list();
    const condition = page.getByLabel('Group of failures');
    expect(await condition.inputValue()).toBe(group?.id);
    // Its id says nothing to a person.
    expect(await condition.getAttribute('aria-describedby')).toBe('hint-failure');
    expect(await page.locator('#hint-failure').textContent()).toBe('the CRM is down');
    for (const name of ['handler', 'only'])
      expect(await page.locator(`#proposals-${name} option`).evaluateAll((all) => all.length)).toBe(1);
    await page.reload();
    expect(await page.getByLabel('Runs a second').inputValue()).toBe('10');
  });

  test('a bulk replay shows how far it has come, on the overview too, and is stopped', async () => {
    const { receiver, mend } = await operated();
    // An event that doesn't match, after the three that do.
    await deliver(receiver, bodyOf({ callId: 'call-2' }));
    const { page, goTo, complaints } = await open(receiver);
    mend();
    await goTo('/replay?callId=call-1');
    await page.getByLabel('Runs a second').fill('0.001');
    await page.getByRole('button', { name: 'Show what would run' }).click();
    await page.getByRole('button', { name: 'Replay…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('would be run again').waitFor();
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('status').getByText('Replay begun').waitFor();
    await page.getByRole('progressbar', { name: 'Replay 1' }).waitFor();
    // What was counted before is no longer what would run.
    expect(await page.getByRole('heading', { name: 'What would run' }).count()).toBe(0);
    await goTo('/');
    await page.getByText('1 of 3 runs so far (crm: 1)').waitFor();
    await page.reload();
    await page.getByText('1 of 3 runs so far (crm: 1)').waitFor();
    const shareOn = async (shown: Page) => Number(await shown.getByRole('progressbar').getAttribute('value'));
    expect(await shareOn(page)).toBeCloseTo(1 / 3);
    // Only the tab in which it was begun knows what its dry run has counted: another one counts the events.
    const other = await open(receiver);
    await other.goTo('/');
    await other.page.getByText('1 run so far (crm: 1), 25 % of the way through the events').waitFor();
    expect(await shareOn(other.page)).toBe(0.25);
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('status').getByText('Replay 1 was stopped.').waitFor();
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
    await goTo('/audit');
    await page.getByText('1 run, then stopped').waitFor();
    expect((await receiver.counts()).runs.dead).toBe(1);
    expect(complaints).toEqual([]);
  });

  test('a delivery that is not released says why, and is discarded', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/quarantine');
    await page.getByRole('button', { name: 'Check all again…' }).click();
    await page.getByRole('dialog').getByText('0 of 1 delivery would verify').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Check all again' }).click();
    await page.getByRole('status').getByText('Checked 1 delivery: 0 released, 1 remains.').waitFor();
    await goTo('/quarantine/1');
    await page.getByRole('button', { name: 'Show body' }).click();
    const shown = await page.getByLabel('The body').textContent();
    expect(shown).toBe(Buffer.from((await receiver.quarantine.get(1))?.body ?? []).toString());
    await page.getByRole('button', { name: 'Release…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard…' }).click();
    const discarding = page.waitForRequest((request) => request.method() === 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    // Without a body: a parser in front, such as Fastify's, would refuse one of JSON that is empty.
    expect((await discarding).headers()).not.toHaveProperty('content-type');
    await page.getByText('The quarantine is empty.').waitFor();
    await page.getByRole('status').getByText('Discarded delivery 1.').waitFor();
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(0);
  });

  test('the reason of a discard is in no address, which proxies log', async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/quarantine/1');
    await page.getByRole('button', { name: 'Discard…' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('sent by Ann');
    const discarding = page.waitForRequest((request) => request.method() === 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    expect(new URL((await discarding).url()).search).toBe('');
    await page.getByRole('status').getByText('Discarded delivery 1.').waitFor();
    const { entries } = await receiver.audit.list();
    expect(entries[0]).toMatchObject({ action: 'discard', reason: 'sent by Ann' });
  });

  test('a call is erased after its events were counted', { tags: 'long' }, async () => {
    const { receiver } = await operated();
    const { page, goTo } = await open(receiver);
    await goTo('/calls?status=analysed');
    await page.getByRole('link', { name: 'call-1' }).click();
    await page.getByRole('button', { name: 'Erase…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^3 events, .* would be erased/).waitFor();
    await dialog.getByText('the files of the database may hold remains').waitFor();
    await dialog.getByRole('button', { name: 'Erase' }).click();
    await expect.poll(() => receiver.calls.get('call-1')).toBeUndefined();
    // Where it was there is nothing to see any more, and the way back doesn't lead there.
    await page.getByText('No call has been seen yet.').waitFor();
    await page.getByRole('status').getByText('Erased: 3 events').waitFor();
    expect(await focused(page)).toBe('Calls');
    await page.goBack();
    expect(new URL(page.url()).hash).toBe('#/calls?status=analysed');
  });
});

test('the audit list shows at once what somebody else does', async () => {
  // While time stands still, the page gets no other notice.
  const { receiver } = await started({ clock: new ManualClock() });
  const { page, goTo } = await open(receiver);
  const following = page.waitForResponse('**/api/changes');
  await goTo('/audit');
  await following;
  await receiver.failures.mute('a-group', { by: 'bob', reason: 'it is known' });
  await page.getByRole('row', { name: /^1 .*bob mute a-group/ }).waitFor();
});

test('whoever may only dismiss stops a dismissal, and no replay', async () => {
  const database = temporaryDatabase();
  // While time stands still, this process doesn't continue what another has begun.
  const { receiver } = await started({ database, clock: new ManualClock() });
  await withStore(database, async (store) => {
    for (const action of ['replay', 'dismiss'] as const) await beginElsewhere(store, action);
  });
  const { page, goTo } = await open(receiver, () => ['look', 'dismiss']);
  await goTo('/audit');
  await page.getByRole('progressbar', { name: 'Replay 1' }).waitFor();
  expect(await page.getByRole('button', { name: 'Stop…' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('status').getByText('Dismissal 2 was stopped.').waitFor();
});

test('a handler is paused for a reason and resumed, while deliveries come', async () => {
  const { receiver, mend } = await operated();
  mend();
  const stateOf = async () => (await receiver.handlers.list()).handlers.find(({ name }) => name === 'crm');
  const { page, goTo } = await open(receiver, () => ({ access: 'all', by: 'ann' }));
  const deliverMore = (from: number) =>
    Promise.all(
      Array.from({ length: 50 }, (_, index) => deliver(receiver, bodyOf({ traceId: `${from + index}` }))),
    );
  await goTo('/handlers');
  const row = page.getByRole('row', { name: /^crm/ });
  await row.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('the CRM moves');
  const before = deliverMore(0);
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('status').getByText('crm is paused.').waitFor();
  await row.getByText('paused').waitFor();
  await page.getByRole('row', { name: /^Paused since .* by ann: the CRM moves$/ }).waitFor();
  await before;
  await deliverMore(50);
  await expect.poll(async () => (await stateOf())?.due).toBeGreaterThanOrEqual(50);

  await row.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('status').getByText('crm runs again.').waitFor();
  await row.getByText('active').waitFor();
  await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });
  await expect.poll(async () => await stateOf()).toMatchObject({ due: 0, dead: 1 });
});

onSqlite('a user who may only read sees no controls, and the API refuses changes', async () => {
  const { receiver } = await operated();
  void receiver.events.replay({ callId: 'call-1' }, { rate: 0.001 }).catch(() => {});
  await expect.poll(async () => (await receiver.audit.running()).length).toBe(1);
  const { page, goTo } = await open(receiver, () => 'read');
  for (const place of [
    '/',
    '/events/trace-ended',
    '/calls/call-1',
    '/failures',
    '/replay',
    '/quarantine',
    '/quarantine/1',
    '/handlers',
    '/audit',
  ]) {
    await goTo(place);
    const labels = await page.getByRole('button').allTextContents();
    expect([place, labels.filter((label) => label.endsWith('…'))]).toEqual([place, []]);
  }
  const { status } = await page.evaluate(async () => {
    const headers = { 'x-ringback-request': '1', 'content-type': 'application/json' };
    const body = JSON.stringify({ filter: { state: 'dead' } });
    const answer = await fetch('api/events/replay', { method: 'POST', headers, body });
    return { status: answer.status };
  });
  expect(status).toBe(403);
});

onSqlite('only whoever may change nothing is told that the page is read only', async () => {
  const { receiver } = await operated();
  const seen = async (access: 'read' | readonly Action[]) => {
    const { page, goTo } = await open(receiver, () => access);
    await goTo('/');
    return page.locator('.who').textContent();
  };
  expect(await seen('read')).toBe('read only');
  expect(await seen(['look', 'pause'])).toBe('');
  expect(await seen(['look', 'erase'])).toBe('');
});

describe('what an event says', () => {
  const attack = `"><img src=x onerror="globalThis.attacked=1"><script>globalThis.attacked=1</script>{{7*7}}javascript:alert(1)`;

  onSqlite('stays text in every view', async () => {
    const { receiver, logs } = await started({}, (r) => {
      r.on('*', { name: attack, retry: { attempts: 1 } }, () => {
        throw new TypeError(attack);
      });
      r.onCall(
        { name: `join ${attack}`, events: ['callAnalysis.pcaCompleted', 'Another.Event'], within: '1h' },
        () => {},
      );
    });
    const payload = {
      agent_id: attack,
      status: attack,
      reason: attack,
      transfer_to: attack,
      [attack]: attack,
      call_summary: { transfer_reason: attack, customer_sentiment: attack },
      transcript: [{ role: attack, content: attack }],
    };
    const traceId = attack;
    const attacking = (parts: Parameters<typeof bodyOf>[0]) => {
      const body = JSON.parse(bodyOf({ callId: attack, payload, ...parts })) as object;
      return JSON.stringify({ ...body, organizationId: attack, timestamp: attack });
    };
    for (const eventName of ['CallHandler.CallTransferred', 'callAnalysis.pcaCompleted'])
      await deliver(receiver, attacking({ traceId: `${traceId}${eventName}`, eventName }));
    // An adapter may pass on what is no name of a header in HTTP.
    const whole = attacking({ traceId, eventName: attack });
    const { status } = await receiver.take({
      method: 'POST',
      headers: {
        ...signedHeaders(whole),
        'user-agent': attack,
        [`x-webhook-${attack.toLowerCase()}`]: attack,
      },
      body: { kind: 'bytes', bytes: Buffer.from(whole) },
      peerAddress: undefined,
      encrypted: true,
      appTrustProxy: undefined,
    });
    expect(status).toBe(200);
    await logs.until('run_dead', 3);
    await receiver.handlers.pause(attack, { by: attack, reason: attack });
    await receiver.quarantine.discard(99, { by: attack, reason: attack });
    const forged = bodyOf({ traceId, payload });
    const headers = { ...signedHeaders(forged, { secrets: otherSecret }), 'x-webhook-traceid': attack };
    await deliver(receiver, forged, headers);
    await expect.poll(async () => (await receiver.counts()).quarantine.notAuthentic).toBe(1);

    const { page, goTo, complaints } = await open(receiver, () => ({ access: 'all', by: attack }));
    const [id, call] = [encodeURIComponent(traceId), encodeURIComponent(attack)];
    const places = [
      '/',
      '/events',
      `/events/${id}`,
      '/calls',
      `/calls/${call}`,
      '/failures',
      '/quarantine',
      '/quarantine/1',
    ];
    const opened = new Set<string>();
    /** What must be seen there, so that it has been tried. */
    const saidAt: Readonly<Record<string, readonly string[]>> = {
      [`/events/${id}`]: [`x-webhook-${attack.toLowerCase()}`, attack],
      '/handlers': [attack, `by ${attack}`],
      '/audit': [attack],
    };
    for (const place of [
      ...places,
      '/drift',
      '/handlers',
      '/audit',
      `/events?traceId=${call}`,
      `/${call}`,
      `/replay?only=${call}`,
    ]) {
      await goTo(place);
      for (const what of ['body', 'transcript']) {
        const button = page.getByRole('button', { name: `Show ${what}` });
        if ((await button.count()) > 0) {
          await button.click();
          await page.getByLabel(`The ${what}`).waitFor();
          opened.add(what);
        }
      }
      expect([place, await page.locator('main img, main script, [onerror]').count()]).toEqual([place, 0]);
      const shown = (await page.locator('main').textContent()) ?? '';
      for (const text of saidAt[place] ?? []) expect([place, shown.includes(text)]).toEqual([place, true]);
    }
    expect([...opened]).toEqual(['body', 'transcript']);
    await goTo('/events');
    expect(await page.getByText(attack).count()).toBeGreaterThan(1);
    expect(await page.evaluate(() => 'attacked' in globalThis)).toBe(false);
    // Nothing was even refused: it has never been markup.
    expect(complaints).toEqual([]);
  });
});

test('each alert links to what helps with it, and that of similar failures to their group', async () => {
  const { receiver } = await operated();
  const [{ id } = { id: '' }] = await receiver.failures.list();
  const { page, goTo } = await open(receiver);
  const alerts = [
    { name: 'dead_letters' },
    { name: 'handler_failing', subject: 'crm' },
    { name: 'failures_alike', subject: id },
    { name: 'oldest_waiting' },
    { name: 'secret_suspected' },
    { name: 'no_deliveries' },
    { name: 'drift' },
    { name: 'disk' },
  ].map((alert) => ({ ...alert, since: new Date(), message: alert.name }));
  await page.route('**/api/alerts', (route) => route.fulfill({ json: { alerts } }));
  await goTo('/');
  const links = page.getByRole('region', { name: 'Alerts' }).getByRole('link');
  await expect.poll(() => links.count()).toBe(alerts.length);
  await page.getByRole('listitem').filter({ hasText: 'no_deliveries' }).getByRole('link').click();
  await page.getByRole('link', { name: 'Last day' }).and(page.locator('[aria-current=true]')).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'failures_alike' }).getByRole('link').click();
  await page.getByText('One group is shown.').waitFor();
  await page.locator('.group').getByText('the CRM is down').waitFor();
  await goTo('/failures?group=another');
  await page.getByText('Nothing fails like this now.').waitFor();
  await page.getByRole('link', { name: 'Show all' }).click();
  await page.locator('.group').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
});

test('an alert links to its subject, and disappears when that is fixed', { tags: 'long' }, async () => {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, alerts: { freeDisk: false } }, (r) =>
    r.on('*', { name: 'crm' }, () => {
      throw new Discard('no such customer');
    }),
  );
  const body = bodyOf();
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  await logs.until('run_dead');
  const { page, goTo } = await open(receiver);
  await goTo('/');
  const alerts = page.getByRole('region', { name: 'Alerts' });
  expect(await alerts.count()).toBe(0);
  /** How many alerts are shown, while time goes on: the page is told once a second, and it is looked for alerts once a minute. */
  const shown = () => {
    clock.advance(5_000);
    return alerts.count();
  };
  await expect.poll(shown).toBe(1);
  await alerts.getByText('1 run of crm is a dead letter').waitFor();
  await alerts.getByRole('link', { name: 'see why' }).click();
  await page.getByRole('button', { name: 'Dismiss…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('entered by hand');
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('Nothing fails.').waitFor();
  await goTo('/');
  await expect.poll(shown).toBe(0);
});
