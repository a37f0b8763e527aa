/** Fills a knowledge base of a sandbox that is killed meanwhile, and keeps what was answered. */
import {
  KnowledgeBaseClient,
  RefusedRequest,
  type SandboxAddress,
  type ShownDocument,
} from './knowledge-base-client.ts';
import { type MixedDocument, mixedDocument } from './mixed-documents.ts';

/** A sandbox in a process of its own. */
export interface KillableSandbox extends SandboxAddress {
  /** Ends it as a crash would, and resolves when it is gone. */
  readonly kill: () => Promise<unknown>;
  /** Asks it to end, and resolves when it is gone. */
  readonly stop: () => Promise<unknown>;
}

/** One kill. */
export interface Kill {
  /** It comes once so many documents are completed or failed. */
  readonly afterSettled: number;
  /** How many documents are then submitted at once, so that uploads are in flight. */
  readonly burst: number;
  /** Resolves when the process is to be killed, after the burst was sent. */
  readonly moment: (burst: readonly Promise<unknown>[]) => Promise<unknown>;
}

export interface KilledRunOptions {
  /** Starts the sandbox on the same file and port each time. */
  readonly start: () => Promise<KillableSandbox>;
  /** The knowledge base, which is there. */
  readonly knowledgeBase: string;
  /** The address of the documents' website. */
  readonly site: string;
  /** How many documents are submitted, besides those of the bursts, and how many of them may wait. */
  readonly count: number;
  readonly ahead: number;
  readonly kills: readonly Kill[];
  /** Asks again and again until it is true. */
  readonly until: (isReached: () => Promise<boolean>) => Promise<unknown>;
}

/** How many documents may be processed at once, so that those behind them needn't be asked for. */
const together = 4;

export class KilledRun {
  /** All that was submitted, by the names of the documents. */
  readonly submitted = new Map<string, MixedDocument>();
  /** The ids of those whose submission was answered. */
  readonly answered = new Set<string>();
  /** What was said of documents that were completed or failed, when it was said first. */
  readonly settled = new Map<string, ShownDocument>();
  /** How many submissions got no answer. */
  unanswered = 0;
  /** What was found wrong meanwhile. */
  readonly problems: string[] = [];
  readonly #options: KilledRunOptions;
  #sandbox: KillableSandbox;
  #client: KnowledgeBaseClient;

  constructor(options: KilledRunOptions, sandbox: KillableSandbox) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#client = new KnowledgeBaseClient(sandbox, options.knowledgeBase);
  }

  /** The sandbox that runs now. */
  get sandbox(): KillableSandbox {
    return this.#sandbox;
  }

  get client(): KnowledgeBaseClient {
    return this.#client;
  }

  /** Submits all documents, kills the sandbox meanwhile, and waits until every document is completed or failed. */
  async run(): Promise<void> {
    const { kills, count } = this.#options;
    for (const kill of kills) {
      await this.#until(() => this.#isSettled(kill.afterSettled));
      await this.#survive(kill);
    }
    await this.#until(() => this.#isSettled(count));
    // Those that were stored without an answer are known only from the list.
    await this.#until(async () => {
      await this.#lookAtAll();
      return (await this.#client.documents()).every(isSettled);
    });
    await this.#lookAtAll();
  }

  /** What goes wrong ends the waiting: asking again would not mend it. */
  async #until(isReached: () => Promise<boolean>): Promise<void> {
    let failure: unknown;
    await this.#options.until(async () => {
      try {
        return await isReached();
      } catch (error) {
        failure = error;
        return true;
      }
    });
    if (failure !== undefined) throw failure;
  }

  /** Keeps the queue filled, and tells whether so many documents are settled. */
  async #isSettled(count: number): Promise<boolean> {
    const { ahead, count: all } = this.#options;
    while (this.answered.size < all && this.answered.size - this.settled.size < ahead) await this.#submit();
    let unsettled = 0;
    for (const id of this.answered) {
      if (this.settled.has(id)) continue;
      this.#keep(await this.#client.document(id));
      if (!this.settled.has(id)) unsettled += 1;
      if (unsettled > together) break;
    }
    return this.settled.size >= count;
  }

  async #survive({ burst, moment }: Kill): Promise<void> {
    const submissions = Array.from({ length: burst }, () => this.#submit());
    await moment(submissions);
    await this.#sandbox.kill();
    await Promise.all(submissions);
    this.#sandbox = await this.#options.start();
    this.#client = new KnowledgeBaseClient(this.#sandbox, this.#options.knowledgeBase);
    await this.#lookAtAll();
    // From the first search on, the index is in memory and follows the documents.
    await this.#client.search('anything');
  }

  /** Never submits the same again: whether a submission without an answer is there is not known. */
  async #submit(): Promise<void> {
    const document = mixedDocument(this.submitted.size, this.#options.site);
    this.submitted.set(document.name, document);
    try {
      this.answered.add((await this.#client.submit(document.submitted)).document_id);
    } catch (error) {
      if (error instanceof RefusedRequest) throw error;
      this.unanswered += 1;
    }
  }

  async #lookAtAll(): Promise<void> {
    const documents = await this.#client.documents();
    const ids = new Set(documents.map(({ document_id: id }) => id));
    for (const id of this.answered)
      if (!ids.has(id)) this.problems.push(`${id} was answered with 202 and is gone`);
    for (const document of documents) this.#keep(document);
  }

  #keep(document: ShownDocument): void {
    if (!isSettled(document)) return;
    const { document_id: id } = document;
    const before = JSON.stringify(this.settled.get(id) ?? document);
    if (before !== JSON.stringify(document))
      this.problems.push(`${id} was settled twice: ${before} ${JSON.stringify(document)}`);
    this.settled.set(id, document);
  }
}

export function isSettled({ status }: ShownDocument): boolean {
  return status === 'completed' || status === 'failed';
}
