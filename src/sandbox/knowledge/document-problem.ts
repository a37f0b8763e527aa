/** Why a document has failed: a code for programs, and a sentence for people. It holds nothing of the document. */
export interface DocumentProblem {
  readonly code: string;
  readonly message: string;
}

/** Thrown by what processes a document: its problem is kept with the document. */
export class DocumentFailure extends Error {
  override readonly name = 'DocumentFailure';
  readonly code: string;

  constructor({ code, message }: DocumentProblem, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
