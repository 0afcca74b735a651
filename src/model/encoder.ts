import type { TextRole } from '../search/embedder.ts';

/** Makes vectors of texts, one at a time, on the thread that calls it. */
export interface Encoder {
  /** Equal ids mean comparable vectors. */
  readonly id: string;
  readonly dimensions: number;
  /** A vector of length 1, or of zeros when nothing in the text is known. */
  encode(text: string, role: TextRole): Float32Array;
  close(): void;
}
