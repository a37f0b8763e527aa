/** The operators' page in a real browser, as a person sees it. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { launch } from '../../scripts/browser.ts';
import { askAtDoor } from './door.ts';
import type { Authorize, Receiver } from './public.ts';
import { listening } from './servers.ts';

/** Where the page is mounted. */
const mount = '/ops/ringback';

/** A page in the browser, and what went wrong on it. */
export interface Shown {
  readonly page: Page;
  /** Goes to a view by its address behind `#`. */
  readonly goTo: (place: string) => Promise<void>;
  /** Errors and warnings of the browser's console, such as what the page's policy refused, and failed requests. */
  readonly complaints: readonly string[];
}

/**
 * Has one browser for all tests of a file. Call it at the top of the file. Tests without options of their own share a
 * context, because each takes a process; they share no storage, because every page has a port of its own. A test that
 * sets the browser's clock, which is that of all pages of a context, gives options, if only `{}`.
 */
export function browserForTests(): {
  open: (receiver: Receiver, authorize?: Authorize, options?: BrowserContextOptions) => Promise<Shown>;
} {
  let browser: Browser | undefined;
  let shared: Promise<BrowserContext> | undefined;
  beforeAll(async () => {
    await pageIsBuilt();
    browser = await launch(await askAtDoor(inject('preparedDoor'), '/browser'));
  });
  afterAll(() => browser?.close());

  const newContext = (options: BrowserContextOptions = {}) => {
    if (!browser) throw new Error('The browser has not started.');
    return browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  };
  const sharedContext = async () => {
    const context = await newContext();
    // Its process would end with its last page.
    await context.newPage();
    return context;
  };
  return {
    open: async (receiver, authorize = () => 'all', options) => {
      const base = await served(receiver, authorize);
      const context = options ? await newContext(options) : await (shared ??= sharedContext());
      const page = await context.newPage();
      onTestFinished(() => (options ? context.close() : page.close()));
      if (!options) Object.defineProperty(page, 'clock', { get: refuseClock });
      // Vitest's own timeout ends a test that waits for ever.
      page.setDefaultTimeout(500_000);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('requestfailed', (request) => {
        // The page aborts requests when the viewer goes to another view.
        const reason = request.failure()?.errorText ?? '';
        if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`);
      });
      const goTo = async (place: string) => {
        const address = `${base}/#${place}`;
        await page.goto(address);
        await page.locator('main h1:not(.loading)').waitFor();
        await expect.poll(() => page.locator('main .loading').count()).toBe(0);
      };
      return { page, goTo, complaints };
    },
  };
}

function refuseClock(): never {
  throw new Error('Give open() options, if only {}: this clock is that of all tests that give none.');
}

/** Resolves once the page is built. */
export async function pageIsBuilt(): Promise<void> {
  await askAtDoor(inject('preparedDoor'), '/page');
}

async function served(receiver: Receiver, authorize: Authorize): Promise<string> {
  const page = receiver.page({ authorize });
  return `http://127.0.0.1:${await listening(page.nodeHandler(mount))}${mount}`;
}
