import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { configError, ringbackError } from '../../errors/errors.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { messageOf, readCauseOf } from '../../kit/error-text.ts';
import { isMissing, linkTarget } from '../../kit/files.ts';
import { prepareSecrets } from '../../signature/secrets.ts';
import { FileLock } from './file-lock.ts';
import {
  type NewSecret,
  isNeeded,
  mayBelongTo,
  parseSecretLines,
  textOfSecrets,
  withNewSecret,
} from './secret-lines.ts';

/**
 * The secrets in a file, newest first, without those that have expired. Use it in a receiver's option `secrets`, as a
 * function: the receiver calls it again when a signature doesn't verify, so that a rotation needs no restart.
 *
 * @throws ConfigError `secrets_file_unreadable` when the file can't be read or holds no secret that counts;
 * `secret_malformed`, which names the file, when one of them is malformed
 * @example createReceiver({ secrets: () => readSecretFile('./secrets') });
 */
export function readSecretFile(file: string): readonly string[] {
  const { secrets } = parseSecretLines(readOrRefuse(file));
  const needed = secrets.filter((line) => isNeeded(line, systemClock.now())).map(({ secret }) => secret);
  if (needed.length === 0) {
    const cause = secrets.length === 0 ? 'it holds no secret' : 'every secret in it has expired';
    throw configError('secrets_file_unreadable', { file, cause });
  }
  // Checked here, because a later error could not name the file.
  prepareSecrets(needed, file);
  return needed;
}

/** Whether the file can be read and has an unexpired secret that may belong to this subscription. */
export function mayHoldSecretOf(file: string, subscriptionId: string, now: number): boolean {
  try {
    return parseSecretLines(readFileSync(file, 'utf8')).secrets.some(
      (line) => mayBelongTo(line, subscriptionId) && isNeeded(line, now),
    );
  } catch {
    return false;
  }
}

function readOrRefuse(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw configError('secrets_file_unreadable', { file, cause: readCauseOf(error) });
  }
}

/**
 * A secrets file that is about to get a secret. Everything that writing needs is tried before the platform is asked for
 * a secret, so that problems show before there is a secret to lose.
 *
 * The new file is written beside the old one, synced, and renamed over it, so that a receiver reads either all of the
 * old file or all of the new one. From reading to renaming, this process does nothing else, and a lock keeps other
 * processes out. The new file always has the same name, and exists only while the lock is held: what a process that was
 * killed meanwhile has left behind is replaced by the next.
 */
export class SecretFile {
  readonly #path: string;
  /** The secrets in the file before the new one was asked for. */
  readonly #older: ReadonlySet<string>;
  readonly #lock: FileLock;
  readonly #fresh: string;
  #isClosed = false;

  /** @throws RingbackError `secret_file_unwritable`; the signal's reason */
  static async open(file: string, clock: Clock, signal?: AbortSignal): Promise<SecretFile> {
    let opened: SecretFile | undefined;
    try {
      const secretFile = (opened = new SecretFile(file, clock));
      await secretFile.#lock.hold(() => secretFile.#requireReplaceable(), signal);
      return secretFile;
    } catch (error) {
      opened?.close();
      signal?.throwIfAborted();
      throw ringbackError('secret_file_unwritable', { file, cause: messageOf(error) });
    }
  }

  private constructor(file: string, clock: Clock) {
    // A rename would replace a link, and a receiver that reads its target would miss the secret.
    this.#path = linkTarget(file);
    this.#older = new Set(parseSecretLines(textIn(this.#path)).secrets.map(({ secret }) => secret));
    this.#fresh = `${this.#path}.ringback-new`;
    this.#lock = new FileLock(`${this.#path}.lock`, clock);
  }

  /** Replaces the file by one with the new secret first. @throws when the disk refuses, or the form can't hold it */
  async write(issued: NewSecret, now: number): Promise<void> {
    if (!/^[!-~]+$/.test(issued.secret) || /[,#]/.test(issued.secret)) {
      throw new Error('the secret has characters with a special meaning in a secrets file');
    }
    // Without the lock, a secret that another process adds between our read and our rename would be lost for good.
    await this.#lock.hold(() => {
      const lines = withNewSecret(parseSecretLines(textIn(this.#path)), issued, this.#older, now);
      this.#withFresh(textOfSecrets(lines), () => renameSync(this.#fresh, this.#path));
    });
    this.close();
    syncFolder(dirname(this.#path));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lock.close();
  }

  /** Writes the new file, and removes it once it was used, unless it was renamed. Called while the lock is held. */
  #withFresh(text: string, use = () => {}): void {
    rmSync(this.#fresh, { force: true });
    try {
      const descriptor = openSync(this.#fresh, 'wx', 0o600);
      try {
        writeFileSync(descriptor, text);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      use();
    } finally {
      rmSync(this.#fresh, { force: true });
    }
  }

  /**
   * Tries to write beside the file, and refuses a file that is mounted by itself, as containers do it: nothing can be
   * renamed over it. It shows in that the file can't get a second name. A trial rename would show it too, but would give
   * the file another owner and mode, perhaps for no secret at all.
   */
  #requireReplaceable(): void {
    this.#withFresh('');
    try {
      linkSync(this.#path, this.#fresh);
      rmSync(this.#fresh);
    } catch (error) {
      // Other failures say nothing about a rename: not every file system has hard links.
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') return;
      throw new Error(
        `${this.#path} is mounted as a single file, so it can't be replaced. Mount its folder instead`,
        { cause: error },
      );
    }
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}

/** Syncs the rename: otherwise the old file could return after a power loss. On Windows, folders can't be opened. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
