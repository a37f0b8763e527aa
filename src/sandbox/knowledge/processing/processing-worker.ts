/** The processing thread: reads, chunks and embeds one document at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../../../errors/errors.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { chunksOf } from '../chunking/chunk.ts';
import { tokenizer } from '../chunking/tokenizer.ts';
import { DocumentFailure, UnreadableDocument, maxCharacters } from '../document-problem.ts';
import { EmbeddingProblem, type EmbeddingService, embedderFor } from '../embedding/openai-embedder.ts';
import { Frequencies } from '../embedding/features.ts';
import { type Material, readDocument } from '../reading/read-document.ts';
import type { ProcessedDocument, ProcessingJob, ProcessingMessage } from './processing-thread.ts';

const service = workerData as EmbeddingService | undefined;
// An error that a library throws outside of a call is due to the document, too.
process.on('uncaughtException', (error) =>
  send(failureOf(new UnreadableDocument('broken', { cause: error }))),
);
parentPort?.on('message', (job: ProcessingJob) => {
  processed(job).then(
    ({ document, memory }) => send({ kind: 'processed', document }, [memory]),
    (error: unknown) => send(failureOf(error)),
  );
});

/** @param moved buffers that are transferred to the other thread, not copied */
function send(message: ProcessingMessage, moved: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, [...moved]);
}

/** A document with all vectors in one buffer: copying thousands of them would block the sandbox. */
interface Processed {
  readonly document: ProcessedDocument;
  readonly memory: ArrayBuffer;
}

async function processed({ materials, chunking, model }: ProcessingJob): Promise<Processed> {
  const texts = await textsOf(materials);
  send({ kind: 'read' });
  const embedder = embedderFor(model, service);
  const embed = (parts: readonly string[]) => embedder.embed(parts, { purpose: 'document' });
  const chunks = await chunksOf(texts, chunking, await tokenizer(), embed);
  const frequencies = new Frequencies();
  for (const text of chunks) frequencies.add(text);
  const { vectors, memory } = together(await embed(chunks));
  return { document: { chunks, vectors, frequencies: frequencies.toBytes() }, memory };
}

function together(apart: readonly Float32Array[]) {
  const all = new Float32Array(apart.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  const vectors = apart.map((vector) => {
    all.set(vector, start);
    start += vector.length;
    return all.subarray(start - vector.length, start);
  });
  return { vectors, memory: all.buffer };
}

/** @throws DocumentFailure, ConfigError `package_missing` */
async function textsOf(materials: readonly Material[]): Promise<readonly string[]> {
  const texts: string[] = [];
  let characters = 0;
  for (const material of materials) {
    const text = await readDocument(material).catch((error: unknown) => {
      // A parser may throw anything for an unreadable document.
      const isExpected = error instanceof DocumentFailure || error instanceof ConfigError;
      throw isExpected ? error : new UnreadableDocument('broken', { cause: error });
    });
    characters += text.length;
    if (characters > maxCharacters) throw new UnreadableDocument('too_large');
    texts.push(text);
  }
  return texts;
}

/** Errors lose their class between threads. */
function failureOf(error: unknown): ProcessingMessage {
  if (error instanceof DocumentFailure || error instanceof ConfigError) {
    return { kind: 'failed', problem: { code: error.code, message: error.message } };
  }
  if (error instanceof EmbeddingProblem) {
    return { kind: 'failed', problem: { code: 'embedding_failed', message: error.message } };
  }
  return { kind: 'unexpected', cause: messageOf(error) };
}
