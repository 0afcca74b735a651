import { ProxyError } from '../../base/errors.ts';
import type { TextRole } from '../../search/embedder.ts';
import type { Encoder, EncoderPart } from '../encoder.ts';
import { openPackedEncoder, type PackedOptions, type ReadText } from '../packed/packed-encoder.ts';
import { EnglishEncoder } from './english-encoder.ts';
import { BASE_WIDTH, WIDTH } from './english-file.ts';

/**
 * Two encoders as one, whose vectors have two parts: the first encoder's, and one among the meanings the second knows.
 *
 * A document's second part is the second encoder's vector of its text; each part has length 1. A question's second part
 * is a weighted sum of vectors of length 1: of its own words when it is English, and of what leads there from the first
 * encoder's vector and rows in any language. The weights are the file's, so that the product of a question's and a
 * document's vectors is the cosine of the first encoder plus the weighted ones of the second.
 *
 * Throws `model_missing` or `model_invalid`, also when the second file was made for another first one.
 */
export function openTwoEncoders(file: string, second: string, options: PackedOptions = {}): Encoder {
  const base = openPackedEncoder(file, options);
  let english: EnglishEncoder;
  try {
    english = new EnglishEncoder(second, options);
    const { baseDigest } = english.file;
    if (baseDigest !== undefined && baseDigest !== base.digest) {
      english.close();
      throw new ProxyError(
        'model_invalid',
        `The model file ${second} cannot be used: it was made for another first encoder than ${file}.`,
      );
    }
  } catch (error) {
    base.close();
    throw error;
  }
  const { digest, documentPieces, questionPieces, weights } = english.file;
  const secondId = englishId(digest);
  const parts: readonly EncoderPart[] = [
    { id: base.id, dimensions: BASE_WIDTH, encode: (text) => base.encode(text, 'document') },
    { id: secondId, dimensions: WIDTH, encode: (text) => english.encodeText(text, documentPieces) },
  ];

  /** The question's second part. */
  function secondView(text: string, read: ReadText): Float32Array {
    // What an added vocabulary reads is in one of its languages.
    const isEnglish = read.isBase && english.isEnglish(text);
    const { text: ofText, reach, entry } = weights[isEnglish ? 'english' : 'other'];
    const sum = new Float32Array(WIDTH);
    const add = (weight: number, vector: () => Float32Array): void => {
      if (weight > 0) vector().forEach((number, i) => (sum[i]! += weight * number));
    };
    add(ofText, () => english.encodeText(text, questionPieces));
    add(reach, () => english.reach(read.vector));
    add(entry, () => english.encodeRows(read.rows(questionPieces)));
    return sum;
  }

  return {
    id: `${base.id}-${secondId}`,
    dimensions: BASE_WIDTH + WIDTH,
    parts,
    encode(text: string, role: TextRole): Float32Array {
      const whole = new Float32Array(BASE_WIDTH + WIDTH);
      if (role === 'document') {
        let at = 0;
        for (const part of parts) {
          whole.set(part.encode(text), at);
          at += part.dimensions;
        }
        return whole;
      }
      const read = base.read(text, role);
      whole.set(read.vector);
      whole.set(secondView(text, read), BASE_WIDTH);
      return whole;
    },
    close() {
      base.close();
      english.close();
    },
  };
}

/** The name of a document's second part, which a file of this digest makes. */
export function englishId(digest: string): string {
  return `english-${digest.slice(0, 32)}`;
}
