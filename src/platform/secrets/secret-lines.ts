/**
 * The text of a secrets file, as `RINGBACK_SECRETS_FILE` is read: one secret a line, the newest first, `#` begins a
 * comment. Our own comments say which subscription a secret belongs to, and until when a replaced one is needed.
 */

/** A secret in the file, with what its comment says. */
interface SecretLine {
  readonly secret: string;
  readonly comment: string;
}

/** The content of a secrets file. */
export interface SecretLines {
  /** Lines without a secret, which stay at the top. */
  readonly remarks: readonly string[];
  readonly secrets: readonly SecretLine[];
}

/** A secret that has been issued and is to be added to the file. */
export interface NewSecret {
  readonly subscriptionId: string;
  readonly secret: string;
  /** Until when the previous secret is needed, in milliseconds since 1970; undefined unless this is a rotation. */
  readonly previousExpiresAt: number | undefined;
}

/** Stands for the id of a subscription that the platform's answer doesn't name. */
export const unnamedSubscription = 'unknown';

/**
 * How long a secret that is replaced without a rotation is still needed, in milliseconds: by then, attempts to deliver
 * that were in flight are over.
 */
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
 * Puts a new secret first. Older secrets of the same subscription are marked with the time until which they are needed,
 * and secrets whose time is over are removed. Secrets of other subscriptions, and those without such a comment, stay: a
 * secret too many does no harm, but with one too few, deliveries are refused.
 */
export function withNewSecret(
  { remarks, secrets }: SecretLines,
  issued: NewSecret,
  now: number,
): SecretLines {
  const owner = ownerComment(issued.subscriptionId);
  const until = new Date(issued.previousExpiresAt ?? now + lastAttempts).toISOString();
  const older = secrets
    .filter((line) => line.secret !== issued.secret && isNeeded(line, now))
    .map((line) =>
      isReplaced(line, secrets, issued) ? { ...line, comment: `${owner}, until ${until}` } : line,
    );
  return { remarks, secrets: [{ secret: issued.secret, comment: owner }, ...older] };
}

/** Whether the platform may still sign with a secret: it may not once the time in its comment is over. */
export function isNeeded({ comment }: SecretLine, now: number): boolean {
  return (untilOf(comment) ?? Infinity) > now;
}

function isReplaced({ comment }: SecretLine, all: readonly SecretLine[], issued: NewSecret): boolean {
  if (comment === ownerComment(issued.subscriptionId)) return true;
  // If a file written by hand has only one secret, a rotation replaces that one.
  return issued.previousExpiresAt !== undefined && all.length === 1 && !/^subscription \S/.test(comment);
}

/** Whether a secret may be this subscription's: it is not if its comment names another one. */
export function mayBelongTo({ comment }: SecretLine, subscriptionId: string): boolean {
  const [, owner = unnamedSubscription] = /^subscription ([^\s,]+)(?:, until \S+)?$/.exec(comment) ?? [];
  return owner === unnamedSubscription || ownerComment(subscriptionId) === `subscription ${owner}`;
}

export function textOfSecrets({ remarks, secrets }: SecretLines): string {
  const lines = secrets.map(({ secret, comment }) => (comment === '' ? secret : `${secret} # ${comment}`));
  return [...remarks, ...lines, ''].join('\n');
}

/** The id is encoded, so that it can't break out of its comment. */
function ownerComment(subscriptionId: string): string {
  return `subscription ${encodeURIComponent(subscriptionId)}`;
}

function untilOf(comment: string): number | undefined {
  const [, text = ''] = /^subscription \S+, until (\S+)$/.exec(comment) ?? [];
  const until = Date.parse(text);
  return Number.isNaN(until) ? undefined : until;
}
