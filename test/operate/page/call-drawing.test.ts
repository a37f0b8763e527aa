/** The drawing of a call in a real browser: what is in it, and that everybody can read it. */
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import type { Receiver } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

/** The events of a call, and how many seconds after its start they happened. */
const story = [
  ['trace-started', 'CallHandler.CallStarted', 0],
  ['trace-transferred', 'CallHandler.CallTransferred', 190],
  ['trace-ended', 'CallHandler.CallEnded', 191],
  ['trace-analysed', 'callAnalysis.pcaCompleted', 192],
] as const;

/** When the call began. */
const begun = Date.now() - 300_000;

function bodyAt(traceId: string, eventName: string, seconds: number): string {
  const timestamp = new Date(begun + seconds * 1_000).toISOString();
  const payload = { transfer_to: 'sip:desk@example.com', status: 'initiated' };
  const body = JSON.parse(bodyOf({ traceId, eventName, callId: 'call-1', payload })) as object;
  return JSON.stringify({ ...body, timestamp });
}

function register(receiver: Receiver): void {
  receiver.on('*', { name: 'board' }, () => {});
  receiver.on('CallHandler.CallTransferred', { name: 'notify' }, () => {});
  receiver.on('CallHandler.CallEnded', { name: 'crm', retry: { attempts: 1 } }, () => {
    throw new Error('the CRM is down');
  });
}

/** The inbox with the call, of which the end came three times, and a receiver with the same handlers or with others. */
async function receiverOfCall(
  handlers: (receiver: Receiver) => unknown = register,
  database = temporaryDatabase(),
): Promise<Receiver> {
  const { receiver, logs } = await started({ database }, register);
  for (const [traceId, eventName, seconds] of story) {
    const body = bodyAt(traceId, eventName, seconds);
    for (let copies = 0; copies < (traceId === 'trace-ended' ? 3 : 1); copies += 1)
      await deliver(receiver, body);
  }
  await Promise.all([logs.until('run_done', 5), logs.until('run_dead')]);
  await receiver.stop();
  return (await started({ database }, handlers)).receiver;
}

/** The texts of the drawing itself, without what is shown where the pointer rests. */
const textsIn = (page: Page) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('.drawing .table svg text')].map((text) => text.firstChild.textContent)",
  );

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>;

async function boxOf(shown: Locator): Promise<Box> {
  await shown.waitFor();
  const box = await shown.boundingBox();
  if (!box) throw new Error('It is not shown.');
  return box;
}

interface TextBox extends Box {
  readonly text: string;
}

const boxesIn = (page: Page, selector: string) =>
  page.evaluate<TextBox[]>(
    `[...document.querySelectorAll('${selector}')].map((element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return { text: element.textContent, x, y, width, height };
    })`,
  );

/** The texts that are over one another. */
function overlapping(boxes: readonly TextBox[]): readonly (readonly [string, string])[] {
  const pairs = boxes.flatMap((one, at) => boxes.slice(at + 1).map((other) => [one, other] as const));
  const found = pairs.filter(
    ([one, other]) =>
      one.x < other.x + other.width &&
      other.x < one.x + one.width &&
      // Lines of text may touch.
      one.y + 3 < other.y + other.height &&
      other.y + 3 < one.y + one.height,
  );
  return found.map(([one, other]) => [one.text, other.text]);
}

/** How many marks of each kind are drawn. */
async function marksIn(page: Page): Promise<Record<string, number>> {
  const classes =
    "[...document.querySelectorAll('.drawing .table svg path.mark')].map((path) => path.classList[1])";
  const counts: Record<string, number> = {};
  for (const name of await page.evaluate<string[]>(classes)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

test('names what happened, counts duplicates in words, and has a mark for each attempt, stored or not', async () => {
  const receiver = await receiverOfCall();
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/calls/call-1');
  await expect.poll(async () => (await marksIn(page))['mark-first']).toBeGreaterThan(0);
  const { 'mark-first': first = 0, 'mark-done': done = 0, ...marks } = await marksIn(page);
  expect(marks).toEqual({
    'mark-started': 1,
    // Of the call, and of its event.
    'mark-transferred': 2,
    'mark-ended': 1,
    'mark-analysed': 1,
    'mark-arrived': 4,
    'mark-duplicate': expect.any(Number),
    'mark-dead': 1,
  });
  // Four of the board and one of notify. Which of them are stored depends on which handler ended first.
  expect([first + done, first >= 3]).toEqual([5, true]);
  const texts = await textsIn(page);
  for (const text of ['started', 'transferred', 'ended', 'analysed', 'talk 3 min 11 s', 'analysed after 1 s'])
    expect(texts).toContain(text);
  for (const text of ['transferred: initiated', '2 duplicates', 'board', 'notify', 'crm'])
    expect(texts).toContain(text);
  const shapes = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.marks path')].map((path) => path.getAttribute('d'))",
  );
  expect(new Set(shapes).size).toBe(shapes.length);
  expect(await page.locator('.marks').textContent()).toContain('done at the first attempt, some time after');
  // A line from lane to lane begins beside its label, and is behind all others.
  const drawn = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.drawing .way-line, .drawing .label')].map(({ classList }) => classList[0])",
  );
  expect(drawn).toContain('way-line');
  expect(drawn.indexOf('label')).toBeGreaterThan(drawn.lastIndexOf('way-line'));
  const line = await boxOf(page.locator('.way-line').first());
  const label = await boxOf(page.locator('.drawing .label', { hasText: /^started$/ }));
  expect(label.x).toBeGreaterThan(line.x);

  const described = await page.locator('.drawing svg desc').textContent();
  for (const text of [
    'talk 3 min 11 s',
    'Happened: started, transferred, ended, analysed.',
    'crm: given up.',
  ])
    expect(described).toContain(text);
  await page.getByText('The same as a table').click();
  const table = page.getByRole('region', { name: 'The call over time, as a table' });
  await table.getByText('CallEnded: the first of 2 duplicates arrived').waitFor();
  const notStored = table.getByRole('row', {
    name: /^after .* board CallStarted: done at the first attempt/,
  });
  await notStored.waitFor();
  expect(complaints).toEqual([]);
});

test('is as readable in a narrow window: no text is cut, smaller, or over another', async () => {
  const receiver = await receiverOfCall();
  const options = { viewport: { width: 360, height: 780 }, colorScheme: 'dark' } as const;
  const { page, goTo } = await open(receiver, () => 'all', options);
  await goTo('/calls/call-1');
  await expect.poll(async () => (await textsIn(page)).includes('2 duplicates')).toBe(true);
  const region = "document.querySelector('.drawing .table')";
  expect(await page.evaluate(`${region}.scrollWidth - ${region}.clientWidth`)).toBe(0);
  const boxes = await boxesIn(page, '.drawing .table svg text');
  expect(boxes.length).toBeGreaterThan(15);
  expect(boxes.filter(({ x, width, height }) => x < 0 || x + width > 360 || height < 11)).toEqual([]);
  expect(overlapping(boxes)).toEqual([]);
  const [ground, text] = await page.evaluate<[string, string]>(
    `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.label')).fill]`,
  );
  expect([ground, text]).toEqual(['rgb(20, 23, 22)', 'rgb(228, 232, 229)']);
});

test.each([
  [1_280, 'beside', 'span-text'],
  [360, 'beneath', 'label'],
])('in %i pixels, the length of a call is written %s the mark of a transfer', async (width, _, kind) => {
  const { receiver } = await started();
  for (const [traceId, eventName, seconds] of [
    ['trace-started', 'CallHandler.CallStarted', 0],
    ['trace-transferred', 'CallHandler.CallTransferred', 95],
    ['trace-ended', 'CallHandler.CallEnded', 190],
  ] as const)
    await deliver(receiver, bodyAt(traceId, eventName, seconds));
  const { page, goTo } = await open(receiver, () => 'all', { viewport: { width, height: 780 } });
  await goTo('/calls/call-1');
  const text = page.locator('.drawing .table svg text', { hasText: 'talk 3 min 10 s' });
  const mark = page.locator('.drawing .table svg path.mark-transferred').first();
  const isOver = (box: Box, other: Box) =>
    box.x < other.x + other.width &&
    other.x < box.x + box.width &&
    box.y < other.y + other.height &&
    other.y < box.y + box.height;
  expect(isOver(await boxOf(text), await boxOf(mark))).toBe(false);
  expect(await text.getAttribute('class')).toContain(kind);
});

test('an event shows how many duplicates it had, and when they came', async () => {
  const { page, goTo } = await open(await receiverOfCall());
  await goTo('/events/trace-ended');
  await page.getByText(/^2, the first at .*, the last at /).waitFor();
  await goTo('/events/trace-started');
  await page.getByText('none counted').waitFor();
});

test('a run that was dismissed is not said to be done by its handler', async () => {
  const receiver = await receiverOfCall();
  await receiver.events.dismiss({ traceId: 'trace-ended', state: 'dead' }, { by: 'ann', reason: 'by hand' });
  const { page, goTo } = await open(receiver);
  await goTo('/calls/call-1');
  await page.getByText('The same as a table').click();
  await page.getByText('CallEnded: dismissed after 1 attempt', { exact: true }).waitFor();
});

test('of handlers of which only another process knows what they take, it says that they are not drawn', async () => {
  const database = temporaryDatabase();
  const others = (receiver: Receiver) => receiver.on('Another.Event', { name: 'another' }, () => {});
  const receiver = await receiverOfCall(others, database);
  const { page, goTo } = await open(receiver);
  await started({ database }, (r) => r.on('*', { name: 'billing' }, () => {}));
  await goTo('/calls/call-1');
  await page.getByText('only other processes know which events they take: billing').waitFor();
  // No process has registered it: drawn as far as its runs are stored.
  expect(await textsIn(page)).toContain('crm');
});

test(
  'no text at the axis is over another, wherever the events are, and in any width',
  { tags: 'long' },
  async () => {
    const { receiver } = await started();
    const stories = Array.from({ length: 12 }, (_, index) => [0, 10 + index * 6, 290 - index * 6, 300]);
    // They arrive two days later.
    stories.push([-172_800, -172_740]);
    for (const [index, times] of stories.entries())
      for (const [place, seconds] of times.entries()) {
        const [traceId, callId] = [`trace-${index}-${place}`, `call-${index}`];
        const timestamp = new Date(begun + seconds * 1_000).toISOString();
        const body = JSON.parse(bodyOf({ traceId, eventName: 'Another.Event', callId })) as object;
        await deliver(receiver, JSON.stringify({ ...body, timestamp }));
      }
    const { page, goTo } = await open(receiver);
    for (const width of [1_280, 800, 360]) {
      await page.setViewportSize({ width, height: 780 });
      for (const index of stories.keys()) {
        await goTo(`/calls/call-${index}`);
        await page.locator('.drawing .tick').first().waitFor();
        const found = overlapping(await boxesIn(page, '.drawing .tick'));
        expect([width, stories[index], found]).toEqual([width, stories[index], []]);
      }
    }
  },
);

test('what is not known of a call is not said, whichever events are missing or odd', async () => {
  const { receiver } = await started();
  const calls = {
    'without-time': [
      ['CallHandler.CallStarted', 0],
      ['CallHandler.CallEnded', undefined],
    ],
    'ended-first': [
      ['CallHandler.CallStarted', 60],
      ['CallHandler.CallEnded', 0],
    ],
    'only-analysed': [
      ['CallHandler.CallStarted', 0],
      ['callAnalysis.pcaCompleted', 60],
    ],
    'transfer-failed': [
      ['CallHandler.CallStarted', 0],
      ['CallHandler.CallTransferred', 60],
    ],
    'never-started': [['CallHandler.CallEnded', 60]],
  } as const;
  for (const [callId, events] of Object.entries(calls))
    for (const [eventName, seconds] of events) {
      const payload = eventName === 'CallHandler.CallTransferred' ? { status: 'failed' } : {};
      const body = JSON.parse(bodyOf({ callId, eventName, payload })) as object;
      const timestamp = seconds !== undefined && new Date(begun + seconds * 1_000).toISOString();
      await deliver(receiver, JSON.stringify({ ...body, ...(timestamp && { timestamp }) }));
    }
  const { page, goTo } = await open(receiver);
  for (const [callId, text] of [
    ['without-time', 'Call: end not known.'],
    ['ended-first', 'Call: talk of unknown length.'],
    ['only-analysed', 'Call: end not known.'],
    ['transfer-failed', 'Call: not ended yet, transferred.'],
    ['never-started', 'Call: nothing.'],
  ] as const) {
    await goTo(`/calls/${callId}`);
    const described = (await page.locator('.drawing svg desc').textContent()) ?? '';
    expect([callId, described.slice(0, described.indexOf('.') + 1)]).toEqual([callId, text]);
  }
  await goTo('/calls');
  const row = page.getByRole('row', { name: 'never-started' });
  expect(await row.getByRole('cell').first().textContent()).toMatch(/^first seen /);
});

test('a call over more than one day has the days at its axis', async () => {
  const { receiver } = await started();
  const timestamp = new Date(begun - 172_800_000).toISOString();
  const body = JSON.parse(bodyOf({ callId: 'call-1' })) as object;
  await deliver(receiver, JSON.stringify({ ...body, timestamp }));
  const { page, goTo } = await open(receiver);
  await goTo('/calls/call-1');
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    timeZone: 'Europe/Berlin',
  });
  const ticks = await page.locator('.drawing .tick').allTextContents();
  expect(ticks.map((text) => text.split(',')[0])).toEqual(
    [begun - 172_800_000, Date.now()].map((time) => format.format(time)),
  );
});
