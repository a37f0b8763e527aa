/**
 * The text of a secrets file, in the form of `RINGBACK_SECRETS_FILE`: one secret per line, the newest first, `#` begins
 * a comment. Our comments name the subscription of a secret, and until when a replaced one is needed.
 */

interface SecretLine {
  readonly secret: string;
  readonly comment: string;
}

interface SecretLines {
  /** Lines without a secret, which stay at the top. */
  readonly remarks: readonly string[];
  readonly secrets: readonly SecretLine[];
}

export interface NewSecret {
  readonly subscriptionId: string;
  readonly secret: string;
  /** Until when the previous secret is needed, in milliseconds since 1970; undefined unless this is a rotation. */
  readonly previousExpiresAt: number | undefined;
}

/** The id if the platform's answer names no subscription. */
export const unnamedSubscription = 'unknown';

/** How long a secret that is replaced without a rotation is needed, in milliseconds, for attempts in flight. */
const lastAttempts = 3_600_000;

/** Reads the text of a file, written by us or by hand. */
export function parseSecretLines(text: string): SecretLines {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const read = lines.map((line) => {
    const [, before = '', comment = ''] = /^(.*?)(?:(?:^|\s)#(.*))?$/.exec(line) ?? [];
    const secrets = before
      .split(',')
      .map((secret) => secret.trim())
      .filter((secret) => secret !== '');
    return { line, secrets, comment: comment.trim() };
  });
  return {
    remarks: read
      .filter(({ line, secrets }) => secrets.length === 0 && line.trim() !== '')
      .map(({ line }) => line),
    secrets: read.flatMap(({ secrets, comment }) => secrets.map((secret) => ({ secret, comment }))),
  };
}

/**
 * Puts a new secret first. Those of `older`, the secrets from before it was asked for, that are of the same subscription
 * are marked with the time until which they are needed, and expired ones are removed. Others stay: one that another
 * process has added meanwhile may be newer. An extra secret does no harm, but a missing one makes the receiver refuse
 * deliveries.
 */
export function withNewSecret(
  { remarks, secrets }: SecretLines,
  issued: NewSecret,
  older: ReadonlySet<string>,
  now: number,
): SecretLines {
  const owner = ownerComment(issued.subscriptionId);
  const until = new Date(issued.previousExpiresAt ?? now + lastAttempts).toISOString();
  const others = secrets
    .filter((line) => line.secret !== issued.secret && isNeeded(line, now))
    .map((line) =>
      older.has(line.secret) && isReplaced(line, secrets, issued)
        ? { ...line, comment: `${owner}, until ${until}` }
        : line,
    );
  return { remarks, secrets: [{ secret: issued.secret, comment: owner }, ...others] };
}

/** Whether the platform may still sign with a secret: not after the time in its comment. */
export function isNeeded({ comment }: SecretLine, now: number): boolean {
  return (untilOf(comment) ?? Infinity) > now;
}

function isReplaced({ comment }: SecretLine, all: readonly SecretLine[], issued: NewSecret): boolean {
  // Two secrets without the id of a subscription may be of two subscriptions.
  if (issued.subscriptionId !== unnamedSubscription && comment === ownerComment(issued.subscriptionId))
    return true;
  // In a file written by hand with a single secret, a rotation replaces that one.
  return issued.previousExpiresAt !== undefined && all.length === 1 && !/^subscription \S/.test(comment);
}

/** Whether a secret may belong to this subscription: not if its comment names another one. */
export function mayBelongTo({ comment }: SecretLine, subscriptionId: string): boolean {
  const [, owner = unnamedSubscription] = /^subscription ([^\s,]+)(?:, until \S+)?$/.exec(comment) ?? [];
  return owner === unnamedSubscription || ownerComment(subscriptionId) === `subscription ${owner}`;
}

export function textOfSecrets({ remarks, secrets }: SecretLines): string {
  const lines = secrets.map(({ secret, comment }) => (comment === '' ? secret : `${secret} # ${comment}`));
  return [...remarks, ...lines, ''].join('\n');
}

/** Encodes the id, so that it can't break out of the comment. */
function ownerComment(subscriptionId: string): string {
  return `subscription ${encodeURIComponent(subscriptionId)}`;
}

function untilOf(comment: string): number | undefined {
  const [, text = ''] = /^subscription \S+, until (\S+)$/.exec(comment) ?? [];
  const until = Date.parse(text);
  return Number.isNaN(until) ? undefined : until;
}
