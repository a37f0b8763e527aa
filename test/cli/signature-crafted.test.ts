import { describe, expect, it, test } from 'vitest';
import { capture, run } from './signature-support.ts';

const depth = 100_000;
const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('signature detect, of malicious captures', () => {
  it('reports that a body nested as deep as it likes does not verify', { tags: 'long' }, async () => {
    const files = { 'one.http': capture({ signed: 'something else', captured: nested }) };
    const { code, stdout, stderr } = await run(['detect', '--request', 'one.http'], files);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain('one.http does not verify.');
  });

  it('ignores a Content-Length that is not a number', async () => {
    const files = { 'one.http': capture({ captured: 'x', headers: { 'Content-Length': '1, 1' } }) };
    const { stdout } = await run(['detect', '--request', 'one.http'], files);
    expect(stdout).toContain('one.http does not verify.');
    expect(stdout).not.toContain('Content-Length');
  });
});

// A reader whose time grows with the square of the number of blanks would take minutes.
test.each(['detect --request', 'verify'])(
  'signature %s reads a header of many blanks at once',
  async (line) => {
    const headers = { 'X-Blanks': `a${' '.repeat(500_000)}b` };
    const { code } = await run([...line.split(' '), 'one.http'], { 'one.http': capture({ headers }) });
    expect(code).toBe(0);
  },
);
