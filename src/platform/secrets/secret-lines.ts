/**
 * The text of a secrets file: one secret a line, the newest first, `#` begins a comment; as `RINGBACK_SECRETS_FILE` is read.
 * Our own comments say whose a secret is, and until when one that was rotated out is needed.
 */

/** A secret in the file, with what its comment says. */
interface SecretLine {
  readonly secret: string;
  readonly comment: string;
}

/** What a secrets file holds. */
export interface SecretLines {
  /** Lines without a secret, which stay at the top. */
  readonly remarks: readonly string[];
  readonly secrets: readonly SecretLine[];
}

/** A secret that has been issued and belongs into the file. */
export interface NewSecret {
  readonly subscriptionId: string;
  readonly secret: string;
  /** Until when the one before it is needed, in milliseconds since 1970; undefined unless it was rotated. */
  readonly previousExpiresAt: number | undefined;
}

/** Attempts to deliver that are under way when a secret is replaced without a rotation are over by then, in milliseconds. */
const lastAttempts = 3_600_000;

/** Reads the text of a file, whoever wrote it. */
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
 * Puts a new secret first. The subscription's own older ones are marked with the time until which they are needed, and those
 * whose time is over go. What belongs to another subscription, or says nothing of whose it is, stays: a secret too many
 * refuses nothing, one too few refuses deliveries.
 */
export function withNewSecret(
  { remarks, secrets }: SecretLines,
  issued: NewSecret,
  now: number,
): SecretLines {
  const owner = ownerComment(issued.subscriptionId);
  const until = new Date(issued.previousExpiresAt ?? now + lastAttempts).toISOString();
  const older = secrets
    .filter(({ secret, comment }) => secret !== issued.secret && (untilOf(comment) ?? Infinity) > now)
    .map((line) =>
      isReplaced(line, secrets, issued) ? { ...line, comment: `${owner}, until ${until}` } : line,
    );
  return { remarks, secrets: [{ secret: issued.secret, comment: owner }, ...older] };
}

/** Whether the new secret takes the place of this one. */
function isReplaced({ comment }: SecretLine, all: readonly SecretLine[], issued: NewSecret): boolean {
  if (comment === ownerComment(issued.subscriptionId)) return true;
  // The one secret of a file that was written by hand is the one that was rotated.
  return issued.previousExpiresAt !== undefined && all.length === 1 && !/^subscription \S/.test(comment);
}

/** The text to write. */
export function textOfSecrets({ remarks, secrets }: SecretLines): string {
  const lines = secrets.map(({ secret, comment }) => (comment === '' ? secret : `${secret} # ${comment}`));
  return [...remarks, ...lines, ''].join('\n');
}

/** The id is encoded, so that none can break out of its comment. */
function ownerComment(subscriptionId: string): string {
  return `subscription ${encodeURIComponent(subscriptionId)}`;
}

function untilOf(comment: string): number | undefined {
  const [, text = ''] = /^subscription \S+, until (\S+)$/.exec(comment) ?? [];
  const until = Date.parse(text);
  return Number.isNaN(until) ? undefined : until;
}
