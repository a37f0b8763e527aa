import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong, in words: by all of its rules, or by these. */
export async function barriers(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // The page's policy lets no script in: this one comes from the browser's own side.
  await page.evaluate(axe);
  return page.evaluate(async (values) => {
    const { axe: checker } = globalThis as unknown as {
      readonly axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run(values ? { runOnly: { type: 'rule', values } } : {});
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  }, rules);
}
