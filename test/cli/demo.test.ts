import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { Running, folder, secret } from './command.ts';

describe('the demonstration', () => {
  it('shows what is received, dropped as a duplicate, refused, and handled, until Ctrl-C', async () => {
    const running = new Running(['demo', '--pace', '100ms'], { env: { NO_COLOR: '1' } });
    await running.line('→ pcaCompleted     call-1   the analysis, before the call has even begun');
    await running.line('← 200 accepted');
    await running.line('handler analysis   call-1   not done at attempt 1; tried again in 3 s');
    await running.line('handler journal    call-1   wrote when the call ended');
    await running.line('← 200 duplicate');
    await running.line('← 401 not_authentic');
    await running.line('handler fallback   call-1   no handler takes CallHandler.CallPaused');
    await running.line('handler analysis   call-1   wrote the result of the analysis');
    await running.line('→ pcaCompleted     call-2');
    const database = /inbox +(\S+)/.exec(await running.line('inbox'))?.[1] ?? '';
    expect(existsSync(database)).toBe(true);
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/In the inbox: \d+ events, \d+ done\. In the quarantine: \d+ not authentic\.$/);
    // The same event: the call's end came once, its copy reached no handler.
    expect(stdout.match(/call-1 {3}wrote when the call ended/g)).toHaveLength(1);
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
