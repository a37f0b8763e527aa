/** The page's view of a delivery in quarantine says which scheme would verify it, in a real browser, on both stores. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

/** Sends a delivery that is refused, and comes into quarantine. */
async function refused(
  ...[receiver, parts]: [Parameters<typeof deliver>[0], Parameters<typeof signedHeaders>[1]]
) {
  const body = bodyOf();
  expect((await deliver(receiver, body, signedHeaders(body, parts))).status).toBe(401);
}

test('a reader is told in which scheme a delivery is signed instead of the pinned one, and what to do', async () => {
  const { receiver } = await started();
  await deliver(receiver);
  await refused(receiver, { scheme: 'v1-hex-suffix' });
  const { page, goTo, complaints } = await open(receiver, () => 'read');
  await goTo('/quarantine/1');
  const signature = page.getByRole('region', { name: 'Signature' });
  await signature.getByText('verifies otherwise').waitFor();
  await signature.getByText('but t-v1-hex-whole is pinned. If the platform has changed its scheme').waitFor();
  const facts = await signature.locator('dl > div').allInnerTexts();
  expect(facts).toEqual(['Signed in the scheme\nv1-hex-suffix', 'Set or pinned scheme\nt-v1-hex-whole']);
  expect(complaints).toEqual([]);
});

test('an operator who has given the receiver the new secret sees that a delivery verifies, and releases it', async () => {
  let secrets = [secret];
  const { receiver } = await started({ secrets: () => secrets });
  await refused(receiver, { secrets: otherSecret });
  const { page, goTo } = await open(receiver);
  await goTo('/quarantine/1');
  const signature = page.getByRole('region', { name: 'Signature' });
  await signature.getByText('does not verify').waitFor();
  secrets = [secret, otherSecret];
  // The receiver asks for its secrets at most once a second.
  await expect.poll(async () => (await receiver.quarantine.checkSignature(1))?.status).toBe('verifies');
  await page.reload();
  await signature.getByText('It verifies with a current secret in the scheme t-v1-hex-whole').waitFor();
  await page.getByRole('button', { name: 'Release…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
  await page.getByRole('heading', { name: 'CallHandler.CallEnded' }).waitFor();
});

test('a page beside the receiver, without its secrets, says that only the receiver can tell', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  await refused(receiver, { secrets: otherSecret });
  const beside = await started({ database, secrets: undefined, headers: { 'x-key': 'k' } });
  const { page, goTo } = await open(beside.receiver);
  await goTo('/quarantine/1');
  await page.getByText('only a receiver with the secrets can').waitFor();
});

test('the receiver verifies it once, however often the view is brought up to date', async () => {
  const clock = new ManualClock();
  const { receiver } = await started({ clock });
  await refused(receiver, { secrets: otherSecret });
  const { page, goTo } = await open(receiver);
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
  await goTo('/quarantine/1');
  const times = (end: string) => asked.filter((path) => path.endsWith(end)).length;
  await expect
    .poll(() => {
      // The receiver says every five seconds that everything may have changed.
      clock.advance(5_000);
      return times('/quarantine/1');
    })
    .toBeGreaterThan(2);
  expect(times('/quarantine/1/signature')).toBe(1);
});

test('the receiver verifies it once, too, for a page that can only poll', async () => {
  const { receiver } = await started();
  await refused(receiver, { secrets: otherSecret });
  const { page, goTo } = await open(receiver, () => 'all', {});
  await page.route('**/api/changes', (route) => route.fulfill({ status: 503 }));
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
  await page.clock.install();
  await goTo('/quarantine/1');
  const times = (end: string) => asked.filter((path) => path.endsWith(end)).length;
  await expect
    .poll(async () => {
      await page.clock.fastForward(5_000);
      return times('/quarantine/1');
    })
    .toBeGreaterThan(5);
  expect(times('/quarantine/1/signature')).toBe(1);
});
