/** What the page shows of one call, in a real browser, on both stores. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { barriers } from '../../support/barriers.ts';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { eventNames, type Receiver } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

const { callStarted, callEnded, callTransferred, pcaCompleted } = eventNames;
const callId = 'call-1';

/** Delivers an event of the call. */
async function deliverEvent(
  receiver: Receiver,
  eventName: string,
  traceId: string,
  payload: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await deliver(receiver, bodyOf({ traceId, callId, eventName, payload }));
}

const transfer = (transcript: unknown) => ({ transfer_to: 'sip:support@example.com', transcript });

describe('the transcript', () => {
  const greeting = [
    { role: 'agent', content: 'Hello, how can I help?' },
    { role: 'user', content: 'I am looking for a blue bicycle.' },
  ];

  test('is shown on request, turn by turn, by keyboard too, and the audit list has who looked', async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, callEnded, 'trace-ended');
    await deliverEvent(receiver, callTransferred, 'trace-transferred', transfer(greeting));
    const { page, goTo, complaints } = await open(receiver, () => ({ access: 'read', by: 'ann' }));
    await goTo('/calls/call-1');
    const button = page.getByRole('button', { name: 'Show transcript' });
    await button.waitFor();
    expect(await page.getByText('blue bicycle').count()).toBe(0);
    expect((await receiver.audit.list()).entries).toEqual([]);
    await button.focus();
    await page.keyboard.press('Enter');
    const shown = page.getByRole('region', { name: 'The transcript' });
    await shown.waitFor();
    expect(await shown.getByRole('listitem').allTextContents()).toEqual([
      'agentHello, how can I help?',
      'userI am looking for a blue bicycle.',
    ]);
    const { entries } = await receiver.audit.list();
    expect(entries).toMatchObject([{ what: 'trace-transferred', by: 'ann' }]);
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await shown.waitFor({ state: 'detached' });
    expect(await page.getByText('blue bicycle').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test.each([
    ['flat', { eventName: callTransferred, call_id: callId, ...transfer(greeting) }],
    ['in the envelope', { eventName: callTransferred, payload: { call_id: callId, ...transfer(greeting) } }],
  ])('is found in a transfer that is %s', async (_, body) => {
    const { receiver } = await started();
    await deliver(receiver, JSON.stringify({ traceId: 'trace-transferred', ...body }));
    const { page, goTo } = await open(receiver);
    await goTo('/calls/call-1');
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await page.getByText('I am looking for a blue bicycle.').waitFor();
  });

  test('that is not a list of messages is shown as it is', { tags: 'long' }, async () => {
    const { receiver } = await started();
    const odd = ['only text', { text: 'another field' }, { role: 7, content: 'a role that is no text' }];
    await deliverEvent(receiver, callTransferred, 'trace-1', transfer(odd));
    const { page, goTo } = await open(receiver);
    const texts = async () => {
      await goTo('/calls/call-1');
      await page.reload();
      await page.getByRole('button', { name: 'Show transcript' }).click();
      const shown = page.getByRole('region', { name: 'The transcript' });
      await shown.waitFor();
      return shown.getByRole('listitem').allTextContents();
    };
    expect(await texts()).toEqual(['only text', '{"text":"another field"}', 'a role that is no text']);
    await deliverEvent(receiver, callTransferred, 'trace-2', transfer('agent: hello\nuser: hello'));
    expect(await texts()).toEqual(['agent: hello\nuser: hello']);
  });

  test('is that of the latest transfer that has one', { tags: 'long' }, async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, callTransferred, 'trace-1', transfer(greeting.slice(0, 1)));
    await deliverEvent(receiver, callTransferred, 'trace-2', transfer(greeting));
    await deliverEvent(receiver, callTransferred, 'trace-3', transfer(null));
    await deliverEvent(receiver, callTransferred, 'trace-4', transfer([]));
    const { page, goTo } = await open(receiver);
    await goTo('/calls/call-1');
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await page.getByText('I am looking for a blue bicycle.').waitFor();
    await page.getByRole('link', { name: 'a transfer' }).click();
    await page.getByText('trace-2').first().waitFor();
  });

  test('says when there is none', async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, callEnded, 'trace-ended');
    const { page, goTo } = await open(receiver);
    await goTo('/calls/call-1');
    await page.getByText('No event of this call has a transcript: only a transfer contains one.').waitFor();
    expect(await page.getByRole('button', { name: 'Show transcript' }).count()).toBe(0);
    await deliverEvent(receiver, callTransferred, 'trace-transferred', transfer(undefined));
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await page.getByText('No event of this call has a transcript.').waitFor();
    expect(await barriers(page)).toEqual([]);
  });

  test('is not offered to those who may not see bodies', { tags: 'long' }, async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, callTransferred, 'trace-transferred', transfer(greeting));
    const { page, goTo } = await open(receiver, () => ['look']);
    await goTo('/calls/call-1');
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Transcript' }).count()).toBe(0);
  });

  test('of a megabyte from right to left does not stop the page, as one turn or as many', async () => {
    const sample = new URL('../../../fixtures/transcript-hebrew.json', import.meta.url);
    const { body } = JSON.parse(readFileSync(sample, 'utf8')) as {
      body: { transcript: { role: string; content: string }[] };
    };
    const sentence = body.transcript.map(({ content }) => content).join(' ');
    const long = `${sentence} `.repeat(Math.ceil(1_048_576 / Buffer.byteLength(sentence)));
    const turns = Array.from({ length: 9_000 }, (_, index) => ({
      role: index % 2 === 0 ? 'agent' : 'user',
      content: `${index} ${sentence}`.slice(0, 60),
    }));
    const { receiver } = await started();
    await deliverEvent(receiver, callTransferred, 'trace-long', transfer([{ role: 'user', content: long }]));
    const { page, goTo, complaints } = await open(receiver);
    const shown = page.getByRole('region', { name: 'The transcript' });
    await goTo('/calls/call-1');
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await shown.waitFor();
    expect((await shown.locator('p').textContent()) === long).toBe(true);
    // One line in two directions takes a browser the square of its length.
    const pieces = await shown.locator('p > span').allTextContents();
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(2_000);
    const direction = "getComputedStyle(document.querySelector('.transcript p > span')).direction";
    expect(await page.evaluate(direction)).toBe('rtl');
    await page.getByRole('button', { name: 'Hide transcript' }).click();

    await deliverEvent(receiver, callTransferred, 'trace-many', transfer(turns));
    await page.getByText('trace-many').waitFor();
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await page.getByText('500 of 9,000 are shown.').waitFor();
    expect(await shown.getByRole('listitem').count()).toBe(500);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('1,000 of 9,000 are shown.').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('the joins', () => {
  test('say since and until when they wait, for what, and how they were called', async () => {
    const { receiver, logs } = await started({}, (r) => {
      r.onCall({ name: 'waits', events: [callEnded, pcaCompleted], within: '1h' }, () => {});
      r.onCall({ name: 'has-all', events: [callStarted, callEnded], within: '1h' }, () => {});
      r.onCall({ name: 'was-late', events: [callEnded, pcaCompleted], within: '20ms' }, () => {});
    });
    await deliverEvent(receiver, callStarted, 'trace-started');
    await deliverEvent(receiver, callEnded, 'trace-ended');
    await logs.until('run_done', 2);
    const { page, goTo, complaints } = await open(receiver);
    await goTo('/calls/call-1');
    const table = page.getByRole('region', { name: 'Joins' });
    const rowOf = async (name: string) => {
      const cells = await table
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .getByRole('cell')
        .allTextContents();
      const [, state, awaited, when, called] = cells;
      return { state, awaited, when, called };
    };
    await table.waitFor();
    const time = String.raw`\d+ \w+, \d\d:\d\d:\d\d \(.*\d\d:\d\d UTC\)`;
    const when = expect.stringMatching(`^since ${time}$`);
    const awaited = `${callEnded} arrived${pcaCompleted} missing`;
    expect(await rowOf('waits')).toEqual({
      state: 'waiting',
      awaited,
      when: expect.stringMatching(`^since ${time}until ${time}$`),
      called: 'not yet',
    });
    expect(await rowOf('has-all')).toEqual({
      state: 'done',
      awaited: `${callStarted} arrived${callEnded} arrived`,
      when,
      called: expect.stringMatching(/^completedone \d+ \w+, /),
    });
    expect(await rowOf('was-late')).toEqual({
      state: 'done',
      awaited,
      when,
      called: expect.stringMatching(/^timed out, without callAnalysis\.pcaCompleteddone \d+ \w+, /),
    });
    expect(await barriers(page)).toEqual([]);

    await deliverEvent(receiver, pcaCompleted, 'trace-analysed');
    await expect.poll(async () => (await rowOf('waits')).state).toBe('done');
    await expect.poll(async () => (await rowOf('was-late')).called).toMatch(/^completedone .*done /);
    expect(complaints).toEqual([]);
  });

  test('are not mentioned in a call that has none', { tags: 'long' }, async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, callEnded, 'trace-ended');
    const { page, goTo } = await open(receiver);
    await goTo('/calls/call-1');
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('heading', { name: 'Joins' }).count()).toBe(0);
  });
});

test('events that could not be read are not taken for none', async () => {
  const { receiver } = await started();
  await deliverEvent(receiver, callEnded, 'trace-ended');
  const { page, goTo } = await open(receiver);
  const json = { error: { code: 'too_many_searches', message: 'There are too many searches.' } };
  await page.route('**/api/events?*', (route) => route.fulfill({ status: 503, json }));
  await goTo('/calls/call-1');
  const alert = page.getByRole('alert').filter({ hasText: 'There are too many searches.' });
  await alert.waitFor();
  expect(await page.getByRole('heading', { name: 'Events' }).count()).toBe(0);
  await page.unroute('**/api/events?*');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('region', { name: 'Events' }).getByText('trace-ended').waitFor();
  await page.locator('.drawing').waitFor();
});

test('that the handlers could not be read is said in the drawing, where their runs are missing', async () => {
  const { receiver } = await started({}, (r) => r.on('*', { name: 'board' }, () => {}));
  await deliverEvent(receiver, callEnded, 'trace-ended');
  await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
  const { page, goTo } = await open(receiver);
  const json = { error: { code: 'forbidden', message: 'This needs the action look.' } };
  await page.route('**/api/handlers', (route) => route.fulfill({ status: 403, json }));
  await goTo('/calls/call-1');
  const drawing = page.locator('.drawing');
  const alert = drawing.getByRole('alert').filter({ hasText: 'This needs the action look.' });
  await alert.waitFor();
  await page.unroute('**/api/handlers');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await drawing.locator('svg text').filter({ hasText: 'board' }).first().waitFor();
  await alert.waitFor({ state: 'detached' });
});
