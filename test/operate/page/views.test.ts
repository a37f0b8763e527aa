// @module-tag long
/** What is special about some views of the page, in a real browser. */
import { describe, expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver, deliverAll, otherSecret, signedHeaders } from '../../support/deliveries.ts';
import { Gate } from '../../support/gate.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

test('long texts move nothing out of sight, and a time is shown whole', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
      throw new Error('the CRM is down, and it is not known for how long: '.repeat(6));
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_dead');
  await receiver.handlers.pause('crm', { by: 'ann', reason: 'the CRM moves to another house '.repeat(6) });
  const wide = await open(receiver);
  await wide.goTo('/handlers');
  await wide.page.getByRole('button', { name: 'Resume…' }).waitFor();
  const table = "document.querySelector('[aria-label=Handlers]')";
  expect(await wide.page.evaluate(`${table}.scrollWidth - ${table}.clientWidth`)).toBe(0);

  const narrow = await open(receiver, () => 'all', {
    viewport: { width: 390, height: 800 },
    locale: 'en-US',
  });
  await narrow.goTo('/events/trace-1');
  const heightOf = "document.querySelector('tbody tr').getBoundingClientRect().height";
  expect(await narrow.page.evaluate(heightOf)).toBeLessThan(60);
  await narrow.goTo('/events');
  const { width = 0 } = (await narrow.page.getByLabel('Arrived since').boundingBox()) ?? {};
  expect(width).toBeGreaterThan(250);
});

test('long words of a handler, as in its name, are broken', async () => {
  const name = 'w'.repeat(300);
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name, retry: { attempts: 1 } }, () => {
      throw new Error('no');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_dead');
  const { page, goTo } = await open(receiver);
  const root = 'document.documentElement';
  for (const place of ['/failures', '/events/trace-1', `/handlers/${name}`]) {
    await goTo(place);
    expect([place, await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`)]).toEqual([place, 0]);
  }
});

test('text that forces a direction does not turn round what is written after it', async () => {
  const { receiver } = await started({}, (r) => r.on('*', { name: 'crm' }, () => {}));
  await receiver.handlers.pause('crm', { by: 'ann\u202e\u2066', reason: 'שלום' });
  const { page, goTo } = await open(receiver);
  await goTo('/handlers');
  const pause = page.getByText('Paused since').locator('..');
  expect(await pause.textContent()).toMatch(/by ann\\u\{202e\}\\u\{2066\}: שלום$/);
});

test('the count of a handler is written after its name, also if that is written from right to left', async () => {
  const name = 'استقبال';
  const { receiver, logs } = await started({}, (r) => r.on('*', { name }, () => {}));
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_done');
  const { page, goTo } = await open(receiver);
  await goTo('/events/trace-1');
  await page.getByRole('button', { name: 'Replay…' }).click();
  await page.getByRole('dialog').getByText('would be run again').waitFor();
  const [ofName, ofCount] = await page.evaluate<[number, number]>(`(() => {
    const text = document.querySelector('dialog .preview p').firstChild;
    const leftOf = (part) => {
      const range = document.createRange();
      range.setStart(text, text.data.lastIndexOf(part));
      range.setEnd(text, text.data.lastIndexOf(part) + part.length);
      return range.getBoundingClientRect().left;
    };
    return [leftOf('${name}'), leftOf('1')];
  })()`);
  expect(ofCount).toBeGreaterThan(ofName);
});

test('of a call with many events, the latest are listed, and older ones that have dead letters', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
      if (traceId === 'oldest') throw new Error('the CRM is down');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'oldest', callId: 'call-1' }));
  await logs.until('run_dead');
  const others = Array.from({ length: 203 }, (_, index) =>
    bodyOf({ traceId: `later-${index}`, callId: 'call-1' }),
  );
  await deliverAll(receiver, others);
  const { page, goTo } = await open(receiver);
  await goTo('/calls/call-1');
  await page.getByRole('region', { name: 'Events' }).getByText('oldest').waitFor();
  await page.getByRole('button', { name: 'Dismiss…' }).waitFor();
  await page.getByText('The latest 200, and older ones that have dead letters.').waitFor();
  // The 201 that are listed, and no other: a browser would draw tens of thousands for minutes.
  await expect.poll(() => page.locator('.drawing svg path.mark-arrived').count()).toBe(201 + 1);
  await page.getByRole('link', { name: 'All events of this call' }).click();
  await page.getByRole('link', { name: 'Older →' }).waitFor();
});

test('ids that differ only in what can not be seen do not look alike', async () => {
  const { receiver } = await started();
  for (const id of ['a\u200bb', 'a\u202eb']) await deliver(receiver, bodyOf({ traceId: id, callId: id }));
  const { page, goTo } = await open(receiver);
  await goTo('/events');
  const [one, other] = ['a\\u{202e}b', 'a\\u{200b}b'];
  await expect.poll(() => page.locator('td code').allTextContents()).toEqual([one, one, other, other]);
  await page.locator('td a').last().click();
  await page.getByRole('heading', { name: `Call ${other}` }).waitFor();
});

test('a body of long lines is laid out in short pieces, and is copied as it came', async () => {
  const { receiver } = await started();
  const written = `${'שלום '.repeat(5_000)}\n\na${'🦊'.repeat(5_000)} ${'a\n'.repeat(2_000)}a`;
  await deliver(receiver, written, signedHeaders(written, { secrets: otherSecret }));
  const { page, goTo } = await open(receiver);
  await goTo('/quarantine/1');
  await page.getByRole('button', { name: 'Show body' }).click();
  await page.getByLabel('The body').waitFor();
  expect(await page.getByLabel('The body').textContent()).toBe(written);
  const copied = "getSelection().selectAllChildren(document.querySelector('pre')), getSelection().toString()";
  expect(await page.evaluate(copied)).toBe(written);
  const pieces = "[...document.querySelector('pre').childNodes].map(({ textContent }) => textContent)";
  const texts = await page.evaluate<string[]>(pieces);
  // One line in two directions takes a browser the square of its length.
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(2_000);
  // Half a character would be shown as something else.
  expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
  const wide = "document.querySelector('pre').scrollWidth - document.querySelector('pre').clientWidth";
  expect(await page.evaluate(wide)).toBe(0);
});

test('a body that is nested deeply and has many values is shown', async () => {
  const { receiver } = await started();
  const ones = `1${',1'.repeat(400_000)}`;
  const written = `{"traceId":"deep","payload":${'['.repeat(900)}${ones}${']'.repeat(900)}}`;
  await deliver(receiver, written);
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/events/deep');
  await page.getByRole('button', { name: 'Show body' }).click();
  const shown = page.getByLabel('The body');
  await expect.poll(async () => (await shown.count()) + complaints.length).toBe(1);
  expect(complaints).toEqual([]);
  expect((await shown.textContent()) === written).toBe(true);
});

test('events and calls are shown whose ids a browser would resolve in a path', async () => {
  const { receiver } = await started();
  const { page, goTo, complaints } = await open(receiver);
  for (const id of ['.', '..', '~.']) {
    await deliver(receiver, bodyOf({ traceId: id, callId: id }));
    await goTo(`/events/${id}`);
    await page.getByRole('heading', { name: 'CallHandler.CallEnded' }).waitFor();
    await goTo(`/calls/${id}`);
    await page.getByRole('heading', { name: 'Events' }).waitFor();
  }
  expect(complaints).toEqual([]);
});

describe('what is not there', () => {
  test("an error of the API is shown in the API's words", async () => {
    const { receiver } = await started();
    const { page, goTo } = await open(receiver);
    await goTo('/events/no-such-trace');
    await page.getByRole('alert').getByText('There is nothing at /events/no-such-trace').waitFor();
    await goTo('/nothing');
    await page.getByRole('heading', { name: 'There is no such view' }).waitFor();
  });

  test('an event that arrives is shown by itself', async () => {
    const { receiver } = await started();
    const { page, goTo } = await open(receiver);
    await goTo('/events');
    await page.getByText('No event has arrived yet.').waitFor();
    await deliver(receiver, bodyOf({ traceId: 'trace-new' }));
    await page.getByText('trace-new').waitFor();
  });

  test('an event is shown as soon as the receiver says that something has changed', async () => {
    const { receiver } = await started();
    const { page, goTo, complaints } = await open(receiver);
    const asked = page.waitForRequest('**/api/changes');
    await goTo('/events');
    expect((await asked).headers()['accept']).toBe('text/event-stream');
    await deliver(receiver, bodyOf({ traceId: 'trace-new' }));
    await page.getByText('trace-new').waitFor();
    expect(complaints).toEqual([]);
  });
});

/** A page that shows a list, scrolled to the link to a call. */
async function scrolledList() {
  const { receiver } = await started();
  await deliverAll(
    receiver,
    Array.from({ length: 60 }, (_, index) => bodyOf({ traceId: `trace-${index}`, callId: `call-${index}` })),
  );
  const { page, goTo } = await open(receiver, () => 'all', { viewport: { width: 390, height: 700 } });
  const place = () => page.evaluate<number>('scrollY');
  await goTo('/events');
  const link = page.getByRole('link', { name: 'call-20', exact: true });
  await link.scrollIntoViewIfNeeded();
  const before = await place();
  return { page, place, link, before };
}

test('going back leads to where the list was, and a link to the top of its view', async () => {
  const { page, place, link, before } = await scrolledList();
  expect(before).toBeGreaterThan(300);
  await link.click();
  await page.getByRole('heading', { name: 'Call call-20' }).waitFor();
  expect(await place()).toBe(0);
  await page.goBack();
  await link.waitFor();
  await expect.poll(place).toBe(before);
  await page.goForward();
  await page.getByRole('heading', { name: 'Call call-20' }).waitFor();
  await expect.poll(place).toBe(0);
});

test('a list that is left before it is there again keeps its place', async () => {
  const { page, place, link, before } = await scrolledList();
  await link.click();
  await page.getByRole('heading', { name: 'Call call-20' }).waitFor();
  const list = new Gate();
  await page.route(/\/api\/events(?!\/|.*callId)/, async (route) => {
    await list.pass();
    await route.continue().catch(() => {});
  });
  await page.goBack();
  await list.reached;
  await page.goForward();
  await page.getByRole('heading', { name: 'Call call-20' }).waitFor();
  list.open();
  await page.goBack();
  await link.waitFor();
  await expect.poll(place).toBe(before);
});
