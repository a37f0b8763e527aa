import { describe, expect, it } from 'vitest';
import { type FailureOptions, type SandboxOptions, createSandbox } from '../../src/sandbox/index.ts';
import { literal, read, tableRows } from '../docs/documents.ts';
import { ask, startedSandbox } from './support.ts';

const page = 'docs/sandbox.md';

/** The values that an error's sentence lists as possible. */
function listedBy(work: () => unknown, list: RegExp): string[] {
  try {
    work();
  } catch (error) {
    return (list.exec((error as Error).message)?.[1] ?? '').split(', ');
  }
  throw new Error('It was let pass');
}

const column = (rows: readonly string[][], index: number) => rows.map((row) => literal(row[index]) ?? '');

describe('docs/sandbox.md', () => {
  it('lists the same options', () => {
    const make = () => createSandbox({ xxxxxxxxxxxxxxxxxxxx: 1 } as SandboxOptions);
    const known = listedBy(make, /The options are: (.*)\.$/);
    expect(column(tableRows(page, 'option of a sandbox'), 0).sort()).toEqual(known.sort());
  });

  it('lists the same operations', async () => {
    const sandbox = await startedSandbox();
    const known = listedBy(() => sandbox.fail('xxxxxxxxxx', 1), /one of (.*), but is/);
    // Processing a document is no request, but can be made to fail like one.
    const operations = known.filter((name) => name.includes('.') && name !== 'knowledge-bases.ingest');
    expect(column(tableRows(page, 'operation', 'request'), 0).sort()).toEqual(operations.sort());
  });

  it('lists the same ways to fail', async () => {
    const sandbox = await startedSandbox();
    const fail = () => sandbox.fail('calls', 1, { xxxxxxxxxxxxxxxxxxxx: 1 } as FailureOptions);
    const known = listedBy(fail, /The options are: (.*)\.$/);
    expect(column(tableRows(page, 'field of `how`'), 0).sort()).toEqual(known.sort());
    const shown = [...read(page).matchAll(/sandbox\.fail\('(.+?)'/g)].map(([, operation = '']) => operation);
    expect(shown.length).toBeGreaterThan(3);
    for (const operation of shown) sandbox.fail(operation, 0);
  });

  it.each(tableRows(page, 'operation', 'request'))('%s is at %s', async (name, request) => {
    const sandbox = await startedSandbox();
    sandbox.fail(literal(name) ?? '', 1);
    const line = (literal(request) ?? '').replaceAll(/\{\w+\}/g, 'x').replace(/\?.*/, '');
    expect((await ask(sandbox, line)).status).toBe(503);
  });

  it.each(tableRows(page, 'request', 'what it does'))('%s is there', async (request) => {
    const sandbox = await startedSandbox();
    const line = (literal(request) ?? '').replace(/\?.*/, '');
    const { status } = await ask(sandbox, line, line.startsWith('POST') ? { body: { odd: true } } : {});
    expect([200, 422]).toContain(status);
  });
});
