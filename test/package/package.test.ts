import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sign } from '../../src/index.ts';
import { type PackedProject, packProject, runIn } from './packed-project.ts';
import { startProgram } from './program.ts';
import { TypeChecker } from './type-check.ts';
import { rightApp, wrongApp } from './typed-apps.ts';

const secret = 'whsec_cGFja2FnZQ==';
let project: PackedProject;

beforeAll(async () => {
  project = await packProject();
});
afterAll(() => project.remove());

describe('the packed package', () => {
  it('has the files that users need, and no others', () => {
    expect(project.files).toEqual(
      expect.arrayContaining([
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist/cli/main.js',
        'dist/index.d.ts',
        'dist/index.js',
        'dist/operate/page/assets/index.html',
        'dist/testing/index.d.ts',
        'dist/platform/index.js',
        'dist/sandbox/index.js',
        'dist/testing/index.js',
        'docs/errors.md',
        'examples/standalone/app.ts',
        'fixtures/call-ended.json',
        'package.json',
        'schemas/call-ended.schema.json',
        'schemas/sandbox-seed.schema.json',
      ]),
    );
    const allowed =
      /^((dist|docs|examples|fixtures|schemas)\/|(CHANGELOG|README)\.md$|LICENSE$|package\.json$)/;
    expect(project.files.filter((file) => !allowed.test(file))).toEqual([]);
    const sources = project.files.filter((file) => /^dist\/.*(?<!\.d)\.ts$/.test(file));
    expect(sources).toEqual([]);
  });

  it(
    'has types that accept an app without any other package, and refuse each wrong field',
    { tags: 'long' },
    () => {
      const errors = new TypeChecker().errors(project, { 'right.ts': rightApp, 'wrong.ts': wrongApp });
      expect(errors.map((line) => line.replace(/: .*/, ''))).toEqual(
        [4, 5, 6, 7, 8].map((line) => expect.stringMatching(new RegExp(`^wrong\\.ts\\(${line},\\d+\\)$`))),
      );
    },
  );

  it("serves the operators' page", { tags: 'long' }, () => {
    const script = `
      import { createReceiver } from 'ringback';
      const receiver = createReceiver({ secrets: '${secret}', database: ':memory:' });
      const page = receiver.page({ authorize: () => 'read' });
      const document = await page.fetch(new Request('https://ops.example.com/'));
      const [, style] = /href="[.]([^"]+[.]css)"/.exec(await document.text());
      const { status, headers } = await page.fetch(new Request('https://ops.example.com' + style));
      console.log(document.status, status, headers.get('content-type'));`;
    expect(runNode('--input-type=module', script)).toBe('200 200 text/css; charset=utf-8');
  });

  it('is found right by publint', { tags: 'long' }, async () => {
    const { messages } = await publint({ pkgDir: project.installed, pack: false, strict: true });
    expect(messages).toEqual([]);
  });

  it(
    'is imported from plain JavaScript, and says what to install for an inbox on Postgres',
    { tags: 'long' },
    () => {
      const script = `
      import { createReceiver } from 'ringback';
      import * as testing from 'ringback/testing';
      import { createPlatform } from 'ringback/platform';
      import { createSandbox } from 'ringback/sandbox';
      import { postgres } from 'ringback/postgres';
      console.log(Object.keys(testing).length > 0, typeof createPlatform, typeof createSandbox, typeof postgres);
      try { createReceiver({ secrets: 'whsec_aG91c2U=', database: 'postgres://localhost/app' }) }
      catch (error) { console.log(error.code, error.message.includes('npm install pg')) }`;
      expect(runNode('--input-type=module', script)).toBe(
        'true function function function\npackage_missing true',
      );
    },
  );

  it('says what to install for the documents of a knowledge base', { tags: 'long' }, () => {
    const script = `
      import { setTimeout } from 'node:timers/promises';
      import { createSandbox } from 'ringback/sandbox';
      const documents = [{ name: 'a.txt', text: 'Text' }, { name: 'a.html', text: '<p>Text' }];
      const knowledge_bases = [{ id: 'kb_1', name: 'One', documents }];
      const users = [{ id: 'user_1', name: 'Ada', keys: ['key_of_ada'] }];
      const sandbox = createSandbox({ seed: { organizations: [{ id: 'org_1', name: 'One', users, knowledge_bases }] } });
      await sandbox.start();
      const headers = { authorization: 'Bearer key_of_ada' };
      const url = sandbox.url + '/api/v1/knowledge-bases/kb_1/documents';
      const form = new FormData();
      form.set('file', new File(['Text'], 'b.txt'));
      const upload = await fetch(url + '/file', { method: 'POST', headers, body: form });
      console.log(upload.status, (await upload.json()).message.includes('npm install busboy'));
      const list = async () => (await (await fetch(url, { headers })).json()).documents;
      while ((await list()).some(({ status }) => status !== 'failed')) await setTimeout(20);
      for (const { error } of await list()) console.log(error.code, /npm install ([\\w-]+)/.exec(error.message)[1]);
      await sandbox.stop();`;
    // A thread refuses the options of a script that is given as text.
    writeFileSync(join(project.folder, 'ingest.mjs'), script);
    expect(runIn(project, process.execPath, 'ingest.mjs').trim().split('\n')).toEqual([
      '503 true',
      'package_missing gpt-tokenizer',
      'package_missing linkedom',
    ]);
  });

  it('is required from CommonJS, and gives out its schemas and fixtures by name', { tags: 'long' }, () => {
    const script = `
      const schema = require('ringback/schemas/call-ended.schema.json');
      const fixture = require('ringback/fixtures/call-ended.json');
      console.log(typeof require('ringback').createReceiver, schema.$id, fixture.body.eventName);`;
    expect(runNode('--input-type=commonjs', script)).toBe(
      'function urn:ringback:schema:call-ended CallHandler.CallEnded',
    );
  });
});

describe('the command of the packed package', () => {
  let server: ReturnType<typeof startProgram> | undefined;
  afterEach(() => server?.kill());

  it('says its version', { tags: 'long' }, () => {
    const { version } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8'));
    expect(runIn(project, 'node_modules/.bin/ringback', '--version').trim()).toBe(version);
  });

  it('serves: a signed delivery is accepted and reaches the app', async () => {
    writeFileSync(
      join(project.folder, 'app.mjs'),
      `import { appendFileSync } from 'node:fs';
       export default (receiver) => receiver.on('CallHandler.CallEnded', (event) => {
         appendFileSync('handled.txt', event.payload.call_id);
         console.log(JSON.stringify({ event: 'handled' }));
       });`,
    );
    server = startProgram(
      join(project.folder, 'node_modules/.bin/ringback'),
      ['serve', '--app', 'app.mjs', '--port', '0', '--insecure-http'],
      { cwd: project.folder, env: { RINGBACK_SECRETS: secret } },
    );
    const { url, path } = (await server.line('listening')) as { url: string; path: string };
    const body = JSON.stringify({
      traceId: 't-1',
      eventName: 'CallHandler.CallEnded',
      payload: { call_id: 'c-1' },
    });
    const headers = { 'content-type': 'application/json', ...sign(body, { secrets: secret }) };
    const answer = async (): Promise<unknown> =>
      (await fetch(new URL(path, url), { method: 'POST', headers, body })).json();
    // A disk that is slow for a moment has it answered 503.
    await expect.poll(answer).toEqual({ status: 'accepted', traceId: 't-1' });
    await server.line('handled');
    expect(readFileSync(join(project.folder, 'handled.txt'), 'utf8')).toBe('c-1');
    expect(await server.stop()).toBe(0);
  });

  it('demonstrates, with the example app that is in the package', { tags: 'long' }, async () => {
    const demo = ['demo', '--pace', '20ms'];
    server = startProgram(join(project.folder, 'node_modules/.bin/ringback'), demo, {
      cwd: project.folder,
      env: {},
    });
    // A copy that comes with its original may be answered first.
    for (const answer of ['200 accepted', '200 duplicate', '401 not_authentic']) await server.written(answer);
    expect(await server.stop()).toBe(0);
  });
});

function runNode(inputType: string, script: string): string {
  return runIn(project, process.execPath, inputType, '--eval', script).trim();
}
