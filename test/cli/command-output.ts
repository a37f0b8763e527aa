import { StringDecoder } from 'node:string_decoder';

export type OutputName = 'stdout' | 'stderr';

/** What a command has written so far, and a way to wait for more of it. */
export class CommandOutput {
  /** Whole lines of stdout; the line that has not ended comes after them. */
  readonly #lines: string[] = [];
  #rest = '';
  #stderr = '';
  readonly #decoders = { stdout: new StringDecoder(), stderr: new StringDecoder() };
  #isClosed = false;
  #wake: (() => void)[] = [];

  /** Takes what was written to one of them. */
  add(name: OutputName, chunk: Buffer): void {
    const text = this.#decoders[name].write(chunk);
    if (name === 'stderr') this.#stderr += text;
    else {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#lines.push(line);
    }
    this.#wakeAll();
  }

  /** Nothing more comes: who still waits for something waits in vain. */
  close(): void {
    this.#isClosed = true;
    this.#wakeAll();
  }

  /** What was written to stdout, without the end of its last line. */
  get stdout(): string {
    return [...this.#lines, ...(this.#rest === '' ? [] : [this.#rest])].join('\n');
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves to the first line of stdout that contains the text; rejects when the command ends without it. */
  async line(text: string): Promise<string> {
    let found: string | undefined;
    // Each line is looked at once: there may be very many.
    let looked = 0;
    const find = () => {
      found = this.#lines.slice(looked).find((line) => line.includes(text));
      looked = this.#lines.length;
      return found !== undefined;
    };
    await this.#until(find, text);
    return found ?? '';
  }

  /** Resolves when the text has been written to stderr; rejects when the command ends without it. */
  said(text: string): Promise<void> {
    return this.#until(() => this.#stderr.includes(text), text);
  }

  async #until(isThere: () => boolean, text: string): Promise<void> {
    while (!isThere()) {
      if (this.#isClosed) throw new Error(`Ended without ${text}: ${this.stdout}\n${this.#stderr}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #wakeAll(): void {
    for (const resolve of this.#wake.splice(0)) resolve();
  }
}
