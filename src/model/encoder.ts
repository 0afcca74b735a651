import type { TextRole } from '../search/embedder.ts';

/** Makes vectors of texts, one at a time, on the thread that calls it. */
export interface Encoder {
  /** Equal ids mean comparable vectors. */
  readonly id: string;
  readonly dimensions: number;
  /** A vector of length 1, or of zeros when nothing in the text is known. */
  encode(text: string, role: TextRole): Float32Array;
  /**
   * Present when a document's vector consists of parts that can be had one by one, the quickest first: `encode` gives
   * them one after another, and those of a question too.
   */
  readonly parts?: readonly EncoderPart[] | undefined;
  close(): void;
}

export interface EncoderPart {
  /** Equal ids mean comparable vectors of this part, whatever else the encoder has. */
  readonly id: string;
  readonly dimensions: number;
  /** A document's vector of length 1, or of zeros. */
  encode(text: string): Float32Array;
}
