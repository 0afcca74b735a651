import type { ErrorCodeName } from '../base/errors.ts';
import type { TextRole } from '../search/embedder.ts';

/** Which encoder a thread opens, by path: what can be sent to it. */
export type EncoderSource =
  /** `second` is the file of the second encoder; undefined leaves it out. */
  | { readonly kind: 'packed'; readonly file: string; readonly second?: string | undefined }
  | { readonly kind: 'model2vec'; readonly folder: string; readonly name: string | undefined };

/** `workerData` of an encoder's thread. */
export interface ThreadData {
  readonly source: EncoderSource;
  /** Folder of the vectors kept on disk; undefined keeps none. */
  readonly cacheFolder: string | undefined;
  /**
   * How long it rests after a text's later part, as a share of the time that took; 0 or absent for never. On a machine
   * with one core the rest belongs to requests.
   */
  readonly restShare?: number | undefined;
}

export type ToThread =
  | {
      readonly kind: 'embed';
      readonly job: number;
      readonly role: TextRole;
      /** Which part of documents' vectors; undefined for all of them, as for questions. */
      readonly part?: number | undefined;
      readonly texts: readonly string[];
    }
  /** The job is wanted no more; there will be no answer. */
  | { readonly kind: 'cancel'; readonly job: number }
  | { readonly kind: 'close' };

/** What went wrong, in a form that can be sent. */
export interface SentError {
  readonly code: ErrorCodeName | undefined;
  readonly message: string;
}

export type FromThread =
  /** The first message: the encoder is open. */
  | {
      readonly kind: 'open';
      readonly id: string;
      readonly dimensions: number;
      /** How many numbers each part of a document's vector has, where there are parts. */
      readonly parts?: readonly number[] | undefined;
      /** What of it is missing, where it works without. */
      readonly shortfall?: string | undefined;
    }
  /** The first and last message: it cannot be opened. */
  | { readonly kind: 'unopened'; readonly error: SentError }
  /** All vectors of a job, one after another. */
  | { readonly kind: 'done'; readonly job: number; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly job: number; readonly error: SentError };
