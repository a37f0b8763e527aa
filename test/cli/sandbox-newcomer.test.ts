// @module-tag long
/** Follows the README's second section in a project that has the packed package installed, with other ports. */
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../docs/documents.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';
import { startProgram } from '../package/program.ts';
import { freePort } from '../support/free-port.ts';

type Program = ReturnType<typeof startProgram>;

const document = 'README.md';
let project: PackedProject;
let started: Program[] = [];

beforeAll(async () => {
  project = await packProject();
  addPackages(project, 'express');
});
afterAll(() => project.remove());
afterEach(async () => {
  await Promise.all(started.map((program) => program.kill()));
  started = [];
});

describe('a newcomer', () => {
  it('gets from nothing to a handled call, and subscribes once however often the app is run', async () => {
    const command = /^npx ringback (sandbox .+)$/m.exec(block('sh', 'ringback sandbox'))?.[1] ?? '';
    // Faster than in the README, so that the test doesn't wait for calls.
    const args = [...command.split(' '), '--port', '0', '--speed', '1000'];
    const sandbox = start(join(project.folder, 'node_modules/.bin/ringback'), args);
    const { url, apiKey } = (await sandbox.line('listening')) as { url: string; apiKey: string };

    expect(block('sh', 'app.mjs')).toMatch(/^API_KEY=key_… node app\.mjs\n$/);
    const port = String(await freePort());
    const code = block('ts', 'subscriptions.ensure')
      .replace('http://127.0.0.1:8090', url)
      .replaceAll('8080', port);
    writeFileSync(join(project.folder, 'app.mjs'), code);
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
    for (const run of [1, 2]) {
      const app = start(process.execPath, ['app.mjs'], { API_KEY: apiKey });
      await app.written(' has ended');
      expect(app.text(), `run ${run}`).toMatch(/^call \w+ has ended$/m);
      await app.kill();
    }

    expect(statSync(join(project.folder, 'secrets')).mode & 0o777).toBe(0o600);
    const list = await fetch(`${url}/v1/public/webhook/subscriptions?page_size=10`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(await list.json()).toMatchObject({
      total_count: 1,
      data: [{ name: 'my app', signing_enabled: true }],
    });

    rmSync(join(project.folder, 'secrets'));
    const app = start(process.execPath, ['app.mjs'], { API_KEY: apiKey });
    await expect(app.line('receiver_started')).rejects.toThrow(
      /rotateSecret\("[\w-]+"[^]*secrets_unavailable/,
    );
  });
});

/** The document's first code block in the language that contains the text. */
function block(language: string, text: string): string {
  const found = codeBlocks(document, language).find((code) => code.includes(text));
  if (found === undefined) throw new Error(`${document} has no block in ${language} with ${text}.`);
  return found;
}

function start(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program {
  const program = startProgram(command, args, { cwd: project.folder, env });
  started.push(program);
  return program;
}
