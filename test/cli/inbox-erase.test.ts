// @module-tag long
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { folder, ringback, secret } from './command.ts';
import { inboxWithTrouble, linesOf } from './inbox-support.ts';

const body = {
  eventName: 'CallHandler.Other',
  payload: { call_id: 'call_0002', caller: '+1 (555) 010-0123' },
};
const fromNumber = buildDelivery(body, { secret });
const ofCall = ['--call-id', 'call_0001'];

describe('ringback inbox erase', () => {
  it('erases a call with --yes, and needs neither app nor secrets for it', async () => {
    const cwd = await inboxWithTrouble();
    const asked = await ringback(['inbox', 'erase', ...ofCall], { cwd });
    expect([asked.code, asked.stderr]).toEqual([
      0,
      'ringback: Nothing was erased. To erase this, add --yes.\n',
    ]);
    const counts = { events: 2, runs: 1, calls: 1, callIds: ['call_0001'], quarantined: 1 };
    expect(JSON.parse(asked.stdout)).toEqual({ ...counts, checkpointed: false, compacted: false });
    expect(await linesOf(cwd, 'events', ...ofCall)).toHaveLength(2);
    const { code, stdout, stderr } = await ringback(['inbox', 'erase', ...ofCall, '--yes'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ ...counts, checkpointed: true, compacted: true });
    expect(await linesOf(cwd, 'events')).toEqual([]);
  });

  it('erases what names a phone number', async () => {
    const cwd = await inboxWithTrouble({ besides: [fromNumber] });
    const ofNumber = ['--phone-number', '+15550100123', '--yes'];
    const { stdout } = await ringback(['inbox', 'erase', ...ofNumber], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ events: 1, calls: 1 });
    expect(await linesOf(cwd, 'events')).toHaveLength(2);
  });

  it('says when nothing matches, with and without --yes', async () => {
    const cwd = await inboxWithTrouble();
    const targets = [
      ['--call-id', 'call_001'],
      ['--phone-number', '+15550109999'],
    ];
    for (const target of targets) {
      for (const meant of [[], ['--yes']]) {
        const { code, stdout, stderr } = await ringback(['inbox', 'erase', ...target, ...meant], { cwd });
        expect([code, stderr]).toEqual([0, 'ringback: no event and no delivery in quarantine matches\n']);
        expect(JSON.parse(stdout)).toMatchObject({ events: 0, quarantined: 0 });
      }
    }
  });

  it('makes no inbox, and takes no half of a target', async () => {
    const wrong: readonly (readonly [code: number, sentence: RegExp, ...args: string[]])[] = [
      [1, /there is no such file/, ...ofCall, '--yes'],
      [1, /there is no such file/, ...ofCall],
      [2, /missing the option '--call-id <id>' or/, '--yes'],
      [2, /cannot be used with option/, ...ofCall, '--phone-number', '+15550100123'],
      [2, /It should be a phone number of at least 7 digits/, '--phone-number', '12'],
      [2, /It should be text that is not empty/, '--call-id', ''],
    ];
    for (const [expected, sentence, ...args] of wrong) {
      const { code, stdout, stderr } = await ringback(['inbox', 'erase', ...args], { cwd: folder() });
      expect([args, code, stdout]).toEqual([args, expected, '']);
      expect(stderr).toMatch(sentence);
    }
  });
});
