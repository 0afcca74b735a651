import { Fault, isRecord, readBoolean, readOptional, readText } from './json-fields.ts';
import { readPattern } from './pattern.ts';
import type { Pattern } from './pattern.ts';

/**
 * What a `tokenizer.json` (the format of Hugging Face's `tokenizers`) says, less its vocabulary. Whatever this
 * program does not do exactly as that library does is refused here, by its name, so that no text is ever cut into
 * other tokens than the model was trained on.
 */
export interface TokenizerSpec {
  readonly normalizer: readonly NormalizerStep[];
  readonly preTokenizer: readonly PreTokenizerStep[];
  readonly addedTokens: readonly AddedToken[];
  readonly model: ModelSpec;
}

export type NormalizerStep =
  | {
      readonly kind: 'bert';
      readonly cleanText: boolean;
      readonly spaceChinese: boolean;
      readonly stripAccents: boolean;
      readonly lowercase: boolean;
    }
  /** The charsmap of this number, counted in the order of the steps. */
  | { readonly kind: 'precompiled'; readonly charsmap: number }
  | { readonly kind: 'replace'; readonly pattern: Pattern; readonly content: string }
  | { readonly kind: 'strip'; readonly left: boolean; readonly right: boolean }
  | { readonly kind: 'unicode'; readonly form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD' }
  | { readonly kind: 'lowercase' }
  | { readonly kind: 'strip_accents' }
  | { readonly kind: 'prepend'; readonly text: string };

export type PreTokenizerStep =
  | { readonly kind: 'bert' }
  | { readonly kind: 'whitespace' }
  | { readonly kind: 'whitespace_split' }
  | {
      readonly kind: 'metaspace';
      readonly replacement: string;
      readonly prepend: 'always' | 'first' | 'never';
      readonly split: boolean;
    };

export type ModelSpec =
  | {
      readonly kind: 'unigram';
      readonly unknownId: number | undefined;
      /** Whether what no piece covers becomes the pieces of its bytes, `<0x41>` and so on. */
      readonly byteFallback: boolean;
    }
  | {
      readonly kind: 'wordpiece';
      readonly unknownToken: string;
      /** What pieces inside a word begin with. */
      readonly prefix: string;
      /** Longer words are unknown as a whole; in code points. */
      readonly maxWordCharacters: number;
    };

/** A token that is found in a text before anything is cut. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Only between characters that are of no word. */
  readonly isSingleWord: boolean;
  /** It takes the white space before and after it along. */
  readonly stripsLeft: boolean;
  readonly stripsRight: boolean;
  /** Whether it is looked for in the normalised text. */
  readonly isNormalized: boolean;
}

/** Reads the parsed file; throws a `Fault` that says what is wrong or not supported. */
export function readTokenizerSpec(json: unknown): TokenizerSpec {
  if (!isRecord(json)) throw new Fault('it is not a JSON object');
  const counter = { charsmaps: 0 };
  const preTokenizer = readSteps(json['pre_tokenizer'], 'pre-tokenizer', 'pretokenizers', readPreTokenizer);
  // The library decides by the offset in the raw text, which cutting and normalizing shift in ways of their own.
  if (preTokenizer.some((step, i) => i > 0 && step.kind === 'metaspace' && step.prepend === 'first')) {
    throw new Fault('its Metaspace prepends to the first of several parts, which is not supported');
  }
  return {
    normalizer: readSteps(json['normalizer'], 'normalizer', 'normalizers', (step, type) =>
      readNormalizer(step, type, counter),
    ),
    preTokenizer,
    addedTokens: readAddedTokens(json['added_tokens']),
    model: readModel(json['model']),
  };
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Deepest nesting of sequences within sequences. */
const MAX_DEPTH = 16;
/** Most steps of one kind; the models known have 35. */
const MAX_STEPS = 500;

function readSteps<Step>(
  json: unknown,
  called: string,
  listKey: string,
  read: (step: JsonRecord, type: string) => Step,
): Step[] {
  const steps: Step[] = [];
  const walk = (value: unknown, depth: number): void => {
    if (value === null || value === undefined) return;
    if (!isRecord(value) || typeof value['type'] !== 'string') {
      throw new Fault(`its ${called} is not an object with a type`);
    }
    if (value['type'] !== 'Sequence') {
      if (steps.length === MAX_STEPS) throw new Fault(`its ${called} has more than ${MAX_STEPS} steps`);
      steps.push(read(value, value['type']));
      return;
    }
    const list = value[listKey];
    if (!Array.isArray(list) || depth === MAX_DEPTH) {
      throw new Fault(`its ${called} is a sequence without ${listKey}, or nested too deep`);
    }
    for (const each of list) walk(each, depth + 1);
  };
  walk(json, 0);
  return steps;
}

function readNormalizer(step: JsonRecord, type: string, counter: { charsmaps: number }): NormalizerStep {
  switch (type) {
    case 'BertNormalizer': {
      const lowercase = readBoolean(step, 'lowercase', true);
      return {
        kind: 'bert',
        cleanText: readBoolean(step, 'clean_text', true),
        spaceChinese: readBoolean(step, 'handle_chinese_chars', true),
        // Not said, accents go with the capitals.
        stripAccents: readBoolean(step, 'strip_accents', lowercase),
        lowercase,
      };
    }
    case 'Precompiled':
      return { kind: 'precompiled', charsmap: counter.charsmaps++ };
    case 'Replace':
      return {
        kind: 'replace',
        pattern: readPattern(step['pattern']),
        content: readText(step, 'content'),
      };
    case 'Strip':
      return {
        kind: 'strip',
        left: readBoolean(step, 'strip_left', false),
        right: readBoolean(step, 'strip_right', false),
      };
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return { kind: 'unicode', form: type };
    case 'Lowercase':
      return { kind: 'lowercase' };
    case 'StripAccents':
      return { kind: 'strip_accents' };
    case 'Prepend':
      return { kind: 'prepend', text: readText(step, 'prepend') };
    default:
      throw new Fault(`its normalizer ${JSON.stringify(type)} is not supported`);
  }
}

function readPreTokenizer(step: JsonRecord, type: string): PreTokenizerStep {
  switch (type) {
    case 'BertPreTokenizer':
      return { kind: 'bert' };
    case 'Whitespace':
      return { kind: 'whitespace' };
    case 'WhitespaceSplit':
      return { kind: 'whitespace_split' };
    case 'Metaspace': {
      const replacement = readOptional(step, 'replacement', 'string') ?? '\u2581';
      if (!/^.$/su.test(replacement)) throw new Fault('its Metaspace replaces spaces by no single character');
      return {
        kind: 'metaspace',
        replacement,
        prepend: prependOf(step),
        split: readBoolean(step, 'split', true),
      };
    }
    default:
      throw new Fault(`its pre-tokenizer ${JSON.stringify(type)} is not supported`);
  }
}

/** `add_prefix_space` is how files of before 2024 say it. */
function prependOf(step: JsonRecord): 'always' | 'first' | 'never' {
  const scheme = readOptional(step, 'prepend_scheme', 'string');
  const adds = readBoolean(step, 'add_prefix_space', scheme !== 'never');
  switch (scheme) {
    case undefined:
      return adds ? 'always' : 'never';
    case 'always':
    case 'first':
    case 'never':
      return adds ? scheme : 'never';
    default:
      throw new Fault(`its Metaspace has the prepend_scheme ${JSON.stringify(scheme)}, which is not known`);
  }
}

function readModel(json: unknown): ModelSpec {
  if (!isRecord(json)) throw new Fault('it has no model');
  const { type } = json;
  if (type === 'Unigram') {
    const unknownId = readOptional(json, 'unk_id', 'number');
    if (unknownId !== undefined && !(Number.isSafeInteger(unknownId) && unknownId >= 0)) {
      throw new Fault('its unk_id is not the number of a piece');
    }
    return { kind: 'unigram', unknownId, byteFallback: readBoolean(json, 'byte_fallback', false) };
  }
  if (type === 'WordPiece') {
    const maxWordCharacters = readOptional(json, 'max_input_chars_per_word', 'number') ?? 100;
    if (!Number.isSafeInteger(maxWordCharacters) || maxWordCharacters < 1) {
      throw new Fault('its max_input_chars_per_word is not a count');
    }
    return {
      kind: 'wordpiece',
      unknownToken: readOptional(json, 'unk_token', 'string') ?? '[UNK]',
      prefix: readOptional(json, 'continuing_subword_prefix', 'string') ?? '##',
      maxWordCharacters,
    };
  }
  throw new Fault(`its model is ${JSON.stringify(type)}; Unigram and WordPiece are supported`);
}

function readAddedTokens(json: unknown): AddedToken[] {
  if (json === null || json === undefined) return [];
  if (!Array.isArray(json)) throw new Fault('its added_tokens are not a list');
  return json.map((each: unknown) => {
    if (!isRecord(each)) throw new Fault('one of its added_tokens is not an object');
    const id = readOptional(each, 'id', 'number');
    const content = readText(each, 'content');
    if (id === undefined || !Number.isSafeInteger(id) || id < 0 || content === '') {
      throw new Fault('one of its added_tokens has no id or no content');
    }
    return {
      id,
      content,
      isSingleWord: readBoolean(each, 'single_word', false),
      stripsLeft: readBoolean(each, 'lstrip', false),
      stripsRight: readBoolean(each, 'rstrip', false),
      isNormalized: readBoolean(each, 'normalized', !readBoolean(each, 'special', false)),
    };
  });
}
