// @module-tag long
import { existsSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { Running, folder, secret } from './command.ts';

describe('the demonstration', () => {
  it('shows what the sandbox delivers, what is answered, and what handlers and joins do, until Ctrl-C', async () => {
    const running = new Running(['demo', '--pace', '100ms'], { env: { NO_COLOR: '1' } });
    const app = /handlers +(.+)$/.exec(await running.line('  handlers'))?.[1] ?? '';
    expect([isAbsolute(app), existsSync(app)]).toEqual([true, true]);
    await running.line('call-1: a call, and its analysis');
    await running.line('→ CallStarted      call-1   the beginning');
    await running.line('← 200 accepted');
    await running.line('handler journal    call-1   wrote when the call began');
    await running.line('handler journal    call-1   wrote when the call ended');
    await running.line('handler analysis   call-1   wrote the result of the analysis');
    await running.line('handler summary    call-1   the call is whole: it took 10 s, and is analysed');
    await running.line('← 200 duplicate');
    await running.line('forged: ');
    await running.line('← 401 not_authentic');
    await running.line('→ CallTransferred  call-2   to a person, with the transcript');
    await running.line('handler hand-over  call-2   would tell the person who takes the call over');
    await running.line(
      'handler summary    call-3   the call is not whole: callAnalysis.pcaCompleted has not come',
    );
    const database = /inbox +(\S+)/.exec(await running.line('inbox'))?.[1] ?? '';
    expect(existsSync(database)).toBe(true);
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/In the inbox: \d+ events, \d+ done\. In the quarantine: \d+ unauthenticated\.$/);
    // The effect is made once, however often the events of the call were delivered.
    expect(stdout.match(/call-1 {3}wrote when the call ended/g)).toHaveLength(1);
    expect(stdout).not.toMatch(/whsec_|Bearer|key_/);
    expect(existsSync(dirname(database))).toBe(false);
  });

  it('leaves nothing behind when its terminal closes', async () => {
    const running = new Running(['demo']);
    const database = /inbox +(\S+)/.exec(await running.line('inbox'))?.[1] ?? '';
    expect(existsSync(database)).toBe(true);
    running.child.kill('SIGHUP');
    await running.ended();
    expect(existsSync(dirname(database))).toBe(false);
  });

  it('is the real thing when secrets are set: it serves the example app', async () => {
    const env = { RINGBACK_SECRETS: secret, RINGBACK_PORT: '0', RINGBACK_INSECURE_HTTP: 'true' };
    const cwd = folder();
    const running = new Running(['demo'], { env, cwd });
    const url = await running.url();
    expect((await running.logged('receiver_started'))['handlers']).toEqual([
      'journal',
      'analysis',
      'hand-over',
      'fallback',
    ]);
    const answer = await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }));
    expect(answer.status).toBe(200);
    await running.line('wrote when the call ended');
    running.child.kill('SIGTERM');
    expect((await running.ended()).code).toBe(0);
  });
});
