/** A Chromium for tests and screenshots. */
import type { Browser } from 'playwright-core';

/**
 * The path of a browser: that of `RINGBACK_TEST_CHROMIUM`, else the one of the package, which is for Linux on x64 and
 * is unpacked first.
 */
export async function browserPath(): Promise<string> {
  const given = process.env['RINGBACK_TEST_CHROMIUM'];
  if (given) return given;
  const { default: packaged } = await import('@sparticuz/chromium');
  return packaged.executablePath();
}

/** Starts the browser at a path. */
export async function launch(executablePath: string): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath,
    args: [
      // Where tests run, Chromium's sandbox may be impossible, shared memory small, and a graphics card missing.
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      // Every test serves the page from a port of its own: a process for each site took a fifth of their time.
      '--renderer-process-limit=1',
      '--disable-site-isolation-trials',
    ],
  });
}
