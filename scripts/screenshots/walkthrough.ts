/**
 * Walks through what an operator does, from an alert to the mended state, by the page alone. docs/operate.md describes it, step by
 * step, with the pictures that are taken here.
 */
import type { Locator, Page } from 'playwright-core';
import type { Day } from './day.ts';
import { failing } from './handlers.ts';
import { minute, type Plan } from './passing-time.ts';

/** What is walked through, and when. */
export interface Walkthrough {
  readonly day: Day;
  readonly outage: Plan['outage'];
  /** A browser, at no place yet. */
  readonly shown: Page;
  /** When the operator looks once more. */
  readonly end: number;
  /** Runs per second of the replay, which is stopped some seconds after it has begun. */
  readonly rate: number;
  /** The trace id of the dead letter that is looked at. @default the latest one */
  readonly event?: () => Promise<string>;
  /** Takes a picture of what is shown; `isWhole` for all of the page, not only what is seen first. */
  readonly picture: (name: string, isWhole?: boolean) => Promise<void>;
}

/** Each step waits for what the docs say is shown, so that nothing else can be pictured. */
export async function walkThrough(walk: Walkthrough): Promise<void> {
  const { day, outage, shown } = walk;
  const length = outage.to - outage.from;
  await day.passUntil(outage.from + length / 2);
  await shown.clock.setFixedTime(day.now());
  await shown.goto(`${day.page}/`);
  await findOut(walk);
  await pause(walk, outage.from + (length * 3) / 4);
  // The CRM works again.
  await day.passUntil(outage.to + 2 * minute);
  await resume(walk);
  await replay(walk);
  await day.passUntil(day.now() + 5 * minute);
  await check(walk);
}

/** From the alert to one event with its attempts, and its call. */
async function findOut({ shown, event, picture }: Walkthrough): Promise<void> {
  const alerts = shown.getByRole('region', { name: 'Alerts' });
  await alerts.getByText(`attempts of ${failing} have failed`).waitFor();
  await alerts.getByText('are dead letters').waitFor();
  await picture('overview', true);
  await alerts.getByRole('link', { name: 'see why' }).first().click();
  await shown.getByText('Service Unavailable').waitFor();
  await picture('failures');
  await shown.getByRole('link', { name: 'all its events' }).click();
  await shown.getByRole('heading', { name: 'Events' }).waitFor();
  const links = shown.getByRole('table').getByRole('link', { name: 'CallHandler.CallEnded' });
  const wanted = event ? links.and(shown.locator(`[href$="${await event()}"]`)) : links;
  await wanted.first().click();
  await shown.getByText(`Failed attempts of ${failing}`).waitFor();
  await picture('event', true);
  await shown.locator('main a[href*="calls/"]').click();
  await shown.getByRole('heading', { name: /^Call / }).waitFor();
  await picture('call', true);
}

async function pause(walk: Walkthrough, until: number): Promise<void> {
  const { day, shown, picture } = walk;
  await goTo(walk, 'Handlers');
  const row = shown.getByRole('row', { name: new RegExp(`^${failing}`) });
  await change(walk, row.getByRole('button', { name: 'Pause…' }), 'the CRM answers 503');
  await shown.getByRole('status').getByText(`${failing} is paused.`).waitFor();
  await day.passUntil(until);
  await lookAgain(walk);
  await shown.getByText('the CRM answers 503').waitFor();
  await picture('handlers-paused');
}

async function resume(walk: Walkthrough): Promise<void> {
  const { day, shown, picture } = walk;
  await lookAgain(walk);
  const row = shown.getByRole('row', { name: new RegExp(`^${failing}`) });
  await change(walk, row.getByRole('button', { name: 'Resume…' }), 'the CRM works again');
  await day.passUntilDone(shown.getByRole('status').getByText(`${failing} runs again.`).waitFor());
  await day.passUntil(day.now() + minute);
  await lookAgain(walk);
  await row.getByText('active').waitFor();
  await picture('handlers-resumed');
}

/** Replays the group of dead letters, stops that, and goes on with the rest. */
async function replay(walk: Walkthrough): Promise<void> {
  const { day, shown, picture } = walk;
  await goTo(walk, 'Failures');
  await shown.getByRole('link', { name: 'replay at a rate' }).click();
  await showWhatWouldRun(walk);
  await picture('replay-preview');
  await change(walk, shown.getByRole('button', { name: 'Replay…' }), 'lost while the CRM was down');
  await day.passUntilDone(shown.getByRole('status').getByText('Replay begun').waitFor());
  await day.passUntil(day.now() + 8_000);
  await lookAgain(walk);
  await shown.getByRole('progressbar').waitFor();
  await picture('replay-progress');
  await change(walk, shown.getByRole('button', { name: 'Stop…' }), 'the CRM is slow', 'replay-stop');
  await day.passUntilDone(shown.getByRole('status').getByText('was stopped').waitFor());
  await shown.getByRole('progressbar').waitFor({ state: 'detached' });
  await day.passUntil(day.now() + 5 * minute);
  await lookAgain(walk);
  await showWhatWouldRun(walk);
  await change(walk, shown.getByRole('button', { name: 'Replay…' }), 'the CRM is fast again');
  await day.passUntilDone(shown.getByRole('status').getByText('Replay begun').waitFor());
}

async function showWhatWouldRun({ shown, rate }: Walkthrough): Promise<void> {
  await shown.getByLabel('Runs a second').fill(String(rate));
  await shown.getByRole('button', { name: 'Show what would run' }).click();
  await shown.getByRole('heading', { name: 'What would run' }).waitFor();
}

/** The group is gone, no alert is about the handler, and the audit list says who did what. */
async function check(walk: Walkthrough): Promise<void> {
  const { day, end, shown, picture } = walk;
  await goTo(walk, 'Failures');
  await shown.getByText('Nothing fails.').waitFor();
  await picture('failures-mended');
  await goTo(walk, 'Audit');
  await shown.getByText(', then stopped').waitFor();
  await picture('audit');
  const answered = shown.waitForResponse(/\/api\/alerts/);
  await goTo(walk, 'Overview');
  await shown.getByText('no run was given up').waitFor();
  await (await answered).finished();
  await shown
    .getByRole('region', { name: 'Alerts' })
    .getByText(failing)
    .first()
    .waitFor({ state: 'detached' });
  await day.passUntil(end);
  await lookAgain(walk);
  await shown.getByRole('link', { name: 'Last day' }).click();
  await shown.getByRole('link', { name: 'Last day' }).and(shown.locator('[aria-current=true]')).waitFor();
  await shown.getByText('no run was given up').waitFor();
  await picture('overview-mended', true);
}

/** Makes a change by its dialog, with a reason, and perhaps a picture of the dialog. */
async function change(walk: Walkthrough, button: Locator, reason: string, name?: string): Promise<void> {
  const label = ((await button.textContent()) ?? '').replace('…', '');
  await button.click();
  const dialog = walk.shown.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  const submit = dialog.getByRole('button', { name: label, exact: true });
  // It can be clicked once it was counted what would change.
  await dialog.locator('button[type=submit]:enabled').waitFor();
  if (name !== undefined) await walk.picture(name);
  await submit.click();
}

async function goTo({ day, shown }: Walkthrough, view: string): Promise<void> {
  await shown.clock.setFixedTime(day.now());
  await shown.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();
  await shown.getByRole('heading', { level: 1, name: view }).waitFor();
}

/** Shows the same view at the present time. */
async function lookAgain({ day, shown }: Walkthrough): Promise<void> {
  await shown.clock.setFixedTime(day.now());
  await shown.reload();
  await shown.locator('main h1:not(.loading)').waitFor();
}
