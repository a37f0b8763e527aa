/**
 * Answers of the API for views whose routes a receiver may not have yet: what it has is asked for. Times are of the sample
 * call in `fixtures/`.
 */
import type { Page } from 'playwright-core';

/** Lets the browser see what the receiver doesn't have. */
export async function withApiToCome(page: Page): Promise<void> {
  await page.route('**/api/openapi.json', async (route) => {
    const response = await route.fetch();
    const document = (await response.json()) as { readonly paths: Record<string, unknown> };
    for (const [path, answer] of Object.entries({ '/history': history() })) {
      if (path in document.paths) continue;
      document.paths[path] = {};
      await page.route(`**/api${path}*`, (asked) => asked.fulfill({ json: answer }));
    }
    await route.fulfill({ response, json: document });
  });
}

function history() {
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  const points = Array.from({ length: 50 }, (_, minute) => ({
    at: new Date(now - minute * 60_000).toISOString(),
    accepted: 40 + ((minute * 17) % 23),
    duplicate: minute % 4,
    quarantined: minute % 9 === 0 ? 1 : 0,
    refused: minute % 7 === 0 ? { signature_mismatch: 2 } : {},
    answerP50: 4 + (minute % 3),
    answerP99: 18 + ((minute * 13) % 30),
    done: 80 + ((minute * 29) % 41),
    retried: minute > 20 && minute < 32 ? 12 : 0,
    dead: minute > 20 && minute < 24 ? 3 : 0,
    handlerP50: 30,
    handlerP99: 240 + ((minute * 37) % 90),
    waiting: minute > 20 && minute < 32 ? 30 - minute / 2 : 1,
    oldestWaiting: minute > 20 && minute < 32 ? 45_000 : 200,
  }));
  return { resolution: 'minute', points };
}
