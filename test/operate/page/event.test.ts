/** What one event shows of its delivery, in a real browser. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';

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
