/** What one event shows of its delivery, in a real browser. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

test('a body is shown as it arrived, and indented only if nothing else changes', async () => {
  const { receiver } = await started();
  const [plain, written] = [bodyOf({ traceId: 'plain' }), '{ "traceId":"written",  "payload":{"cost":1.0} }'];
  for (const body of [plain, written]) await deliver(receiver, body);
  const { page, goTo, complaints } = await open(receiver);
  const show = async (traceId: string) => {
    await goTo(`/events/${traceId}`);
    await page.getByRole('button', { name: 'Show body' }).click();
    return page.getByLabel('The body').textContent();
  };
  expect(await show('plain')).toBe(plain);
  await page.getByText('Indented').click();
  expect(await page.getByLabel('Indented').textContent()).toBe(
    JSON.stringify(JSON.parse(plain), undefined, 2),
  );
  expect(await show('written')).toBe(written);
  expect(await page.getByText('Indented').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a body, which may be large, is not drawn again while nothing changes', async () => {
  const clock = new ManualClock();
  const { receiver } = await started({ clock });
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  const { page, goTo } = await open(receiver);
  await page.addInitScript(
    'const { atob } = globalThis; let drawn = 0; globalThis.drawn = () => drawn; ' +
      'globalThis.atob = (text) => { drawn += 1; return atob(text); };',
  );
  let unchanged = 0;
  page.on('response', (response) => {
    if (response.url().endsWith('/api/events/trace-1') && response.status() === 304) unchanged += 1;
  });
  await goTo('/events/trace-1');
  await page.getByRole('button', { name: 'Show body' }).click();
  await page.getByLabel('The body').waitFor();
  const before = unchanged;
  await expect
    .poll(() => {
      clock.advance(5_000);
      return unchanged;
    })
    .toBeGreaterThan(before + 2);
  expect(await page.evaluate('globalThis.drawn()')).toBe(1);
});

test('what the signature proves is shown with its scheme and its time, and is not claimed without', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  const body = bodyOf({ traceId: 'signed' });
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  await deliver(receiver, body, signedHeaders(body, { timestamp: now }));
  const byHeaders = await started({ database, secrets: undefined, headers: { 'x-key': 'k' } });
  const json = { 'content-type': 'application/json', 'x-key': 'k' };
  await deliver(byHeaders.receiver, bodyOf({ traceId: 'unsigned' }), json);

  const { page, goTo, complaints } = await open(receiver, () => ['look']);
  await goTo('/events/signed');
  const signature = page.getByRole('region', { name: 'Signature' });
  await signature.getByText('A current secret signed the body and its time').waitFor();
  const facts = await signature.locator('dl > div').allInnerTexts();
  const utc = new Date(now).toISOString().slice(0, 19).replace('T', ' ');
  expect(facts).toEqual([
    'Signed in the scheme\nt-v1-hex-whole',
    expect.stringMatching(`^Signed time\n.* · ${utc} UTC$`),
  ]);
  await goTo('/events/unsigned');
  await signature.getByText('they prove nothing about the body').waitFor();
  expect(await page.getByText('verified').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('failed attempts have their numbers, also after a replay, which counts from 1 again', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 2, base: 1, cap: 1 } }, () => {
      throw new Error('the CRM is down');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_dead');
  await receiver.events.replay({ traceId: 'trace-1' });
  await logs.until('run_dead', 2);
  const { page, goTo } = await open(receiver);
  await goTo('/events/trace-1');
  const numbers = "[...document.querySelectorAll('.attempts li')].map((item) => item.value)";
  expect(await page.evaluate(numbers)).toEqual([2, 1, 2, 1]);
});

test('a failed run leads to its handler, and to all its failures', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
      throw new Error('the CRM is down');
    }),
  );
  for (const traceId of ['trace-1', 'trace-2']) await deliver(receiver, bodyOf({ traceId }));
  await logs.until('run_dead', 2);
  const { page, goTo } = await open(receiver);
  await goTo('/events/trace-1');
  await page.getByRole('link', { name: 'All failures of this handler' }).click();
  await page.locator('.group').getByText('2 dead').waitFor();
  await page.goBack();
  await page.getByRole('region', { name: 'Runs' }).getByRole('link', { name: 'crm' }).click();
  await page.getByRole('heading', { name: 'crm', exact: true }).waitFor();
});
