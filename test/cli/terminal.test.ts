import { expect, it } from 'vitest';
import { withoutControls } from '../../src/cli/terminal.ts';

it('leaves nothing that a terminal would act on, and JSON the same', () => {
  const value = { body: '\u009b31m\u009d0;title\u009c\u007f\u202e\u{e0041} é 日本 😀', list: ['a\nb'] };
  const printed = withoutControls(JSON.stringify(value, undefined, 2));
  expect(printed).not.toMatch(/[^\P{C}\n]/v);
  expect(printed).toContain('é 日本 😀');
  expect(JSON.parse(printed)).toEqual(value);
  expect(withoutControls('not JSON\u001b[2J')).toBe(String.raw`not JSON\u001b[2J`);
});
