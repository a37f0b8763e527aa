import { type RefusalCode, isRefusal } from '../../errors/refusals.ts';
import { isAddressLiteral } from '../../kit/addresses.ts';
import { type Finding, finding, ok, skipped, warning, wrong } from './findings.ts';
import { foreignAnswer } from './foreign-answer.ts';
import type { Answer, Probe } from './probe.ts';

/** Whether the platform would deliver to this address: HTTPS, and a domain name (platform document, Limits). */
export function checkAddress(url: URL): readonly Finding[] {
  return [checkProtocol(url), checkName(url)];
}

function checkProtocol({ protocol }: URL): Finding {
  return protocol === 'https:'
    ? ok('https', 'the address is https')
    : wrong('https', 'the address is http, and the platform delivers over HTTPS only: put TLS in front.');
}

function checkName({ hostname }: URL): Finding {
  const isOwn = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (isAddressLiteral(hostname) || isOwn || !hostname.includes('.')) {
    const hint = 'use a domain name that the platform can look up.';
    return wrong(
      'host',
      `${hostname} is not a public domain name, and the platform delivers only to those: ${hint}`,
    );
  }
  return ok('host', `${hostname} is a domain name`);
}

/** The stages that an unsigned delivery tests, in a receiver's order. */
const stages = ['reachable', 'trust proxy', 'host allowed', 'raw body', 'signature'] as const;

type Stage = (typeof stages)[number];

/** The stage at which each refusal stops a delivery, and what to do. A refusal at the last stage is expected. */
const heldUp: Readonly<Record<RefusalCode, readonly [stage: Stage, message: string]>> = {
  method: ['reachable', 'a POST arrives with another method: look for a redirect or a rewrite in the proxy.'],
  media_type: [
    'reachable',
    'the content type is changed, or the body is compressed, on the way: let the proxy pass both on unchanged.',
  ],
  too_large: ['reachable', 'even a small body is too large: raise limits.body.'],
  timeout: ['reachable', 'the body does not arrive completely: let the proxy pass whole requests on.'],
  unavailable: [
    'reachable',
    'the receiver accepts no deliveries: it is not started, is stopping, or has too much in flight. See its log.',
  ],
  https_required: [
    'trust proxy',
    'the receiver does not see that it came over HTTPS: let the proxy set X-Forwarded-Proto, and name the proxy in ' +
      '--trust-proxy (https.trustProxy).',
  ],
  host_not_allowed: [
    'host allowed',
    'the receiver does not answer to this host: add it to https.hosts, and let the proxy pass the Host header on.',
  ],
  body_already_parsed: [
    'raw body',
    'a body parser in front consumes the raw bytes, which the signature covers: mount the receiver before it.',
  ],
  not_authentic: ['signature', 'unsigned deliveries are refused'],
};

const fine: Readonly<Record<Stage, string>> = {
  reachable: 'the receiver answers',
  'trust proxy': 'the receiver sees that it came over HTTPS',
  'host allowed': 'the receiver answers to this host',
  'raw body': 'the receiver gets the raw bytes',
  signature: heldUp.not_authentic[1],
};

/** How long the platform waits for an answer, in milliseconds (platform document, Limits). */
export const platformTimeout = 1_000;

/** The findings from the answer to an unsigned delivery: one for each stage. */
export function checkReceiver(probe: Probe, url: URL): readonly Finding[] {
  if (probe.kind === 'failed') {
    const hint = 'check DNS, firewall and certificate.';
    return upTo('reachable', `${url.href} can't be reached (${probe.cause}): ${hint}`, url);
  }
  const { status, code, latency } = probe;
  if (!isRefusal(code, status)) return upTo('reachable', strangeAnswer(probe, url), url);
  const [stage, message] = heldUp[code];
  return [...upTo(stage, code === 'not_authentic' ? undefined : message, url), answerTime(latency)];
}

/** The findings of all stages for a delivery that got as far as `last`. Without a message, `last` is ok as well. */
function upTo(last: Stage, message: string | undefined, url: URL): readonly Finding[] {
  const end = stages.indexOf(last);
  return stages.map((stage, index) => {
    if (index > end) return skipped(stage, `deliveries do not get this far: see "${last}"`);
    return index < end || message === undefined ? passed(stage, url) : wrong(stage, message);
  });
}

function passed(stage: Stage, { protocol }: URL): Finding {
  if (stage !== 'trust proxy' || protocol === 'https:') return ok(stage, fine[stage]);
  const hint =
    'leave https.required, or --insecure-http, at its default, and let no proxy say https of a request that came over http.';
  return warning(stage, `the receiver accepts deliveries over http, which is for development only: ${hint}`);
}

export function refusalMessage(code: RefusalCode): string {
  return heldUp[code][1];
}

function strangeAnswer(answer: Answer, url: URL): string {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    return `${url.href} accepts unsigned deliveries (${status}): it is not a receiver, or something in front answers for it.`;
  }
  const byAnother = foreignAnswer(answer, { body: 'even a small body' });
  const hint = byAnother ?? 'check the path, and how the proxy rewrites it.';
  return `${url.href} answers ${status}, but not in the form of a receiver's answer: ${hint}`;
}

function answerTime(latency: number): Finding {
  const check = 'answer time';
  const answered = `answered within ${latency} ms`;
  if (latency < platformTimeout / 2) return ok(check, answered);
  const status = latency < platformTimeout ? 'warning' : 'wrong';
  return finding(
    check,
    status,
    `${answered}, but the platform waits for ${platformTimeout} ms: check the proxy.`,
  );
}

/** The receiver's default tolerance, in milliseconds: it refuses deliveries beyond it. */
const tolerance = 300_000;
/** A difference beyond what the network and the whole seconds of a Date header explain, in milliseconds. */
const suspicious = 30_000;

/** Whether this machine's clock agrees with another one: a signed time too far from ours is refused. */
export function checkClock(probe: Probe | undefined, whose: string): Finding {
  if (probe === undefined)
    return skipped('clock', 'not compared with another clock: set --platform or --url');
  const ahead = probe.kind === 'answered' ? probe.ahead : undefined;
  if (ahead === undefined) return skipped('clock', `${whose} did not send a time`);
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  const difference = `${seconds} s ${ahead < 0 ? 'behind' : 'ahead of'} ${whose}`;
  if (Math.abs(ahead) > tolerance) {
    return wrong(
      'clock',
      `${difference}, so deliveries are refused as too old or too new: synchronize the clock (NTP).`,
    );
  }
  return Math.abs(ahead) > suspicious
    ? warning('clock', `${difference}: synchronize the clock with NTP.`)
    : ok('clock', `agrees with ${whose}`);
}
