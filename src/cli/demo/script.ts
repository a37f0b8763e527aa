import type { CallPlan } from '../../sandbox/calls/call-plan.ts';
import type { SandboxOptions } from '../../sandbox/options.ts';

export interface Scene {
  readonly plan: CallPlan & { readonly callId: string };
  readonly remark: string;
}

/** The longest time between two events of a call, and between two attempts, in the platform's milliseconds. */
const step = 10_000;

const scenes = [
  { remark: 'a call, and its analysis', plan: { scenario: 'completed', duration: step } },
  { remark: 'a call that is transferred to a person', plan: { scenario: 'transferred', duration: 2 * step } },
  { remark: 'a call whose analysis never comes', plan: { scenario: 'unanalysed', duration: step } },
  { remark: 'a call that fails', plan: { scenario: 'failed', duration: step } },
] as const;

/** The calls of the demonstration, counted from 1: the same four repeated, each with its own id. */
export function sceneOf(number: number): Scene {
  const { remark, plan } = scenes[(number - 1) % scenes.length] ?? scenes[0];
  return { remark, plan: { ...plan, callId: `call-${number}`, analysisAfter: step } };
}

/**
 * The sandbox of the demonstration. A step of a call takes `pace` real milliseconds, and more goes wrong than in
 * reality. With these seeds, the first call has a duplicate, and the second a forgery and a cut connection.
 */
export function sandboxOptions(pace: number): SandboxOptions {
  return {
    speed: step / Math.max(pace, 1),
    callSeed: 'demonstration',
    adversary: {
      seed: 122_391,
      duplicated: 0.15,
      delayed: 0.1,
      dropped: 0.1,
      tampered: 0.1,
      wrong_secret: 0.1,
      rubbish: 0.05,
    },
  };
}
