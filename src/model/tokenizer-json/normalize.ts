import type { Charsmap } from '../tokenizer/charsmap.ts';
import { MARKS, NONSPACING_MARKS, REMOVED } from './unicode-tables.ts';
import { expressionOf } from './pattern.ts';
import type { NormalizerStep } from './read-spec.ts';
import { readRanges } from './code-points.ts';

/** The function all steps make, one after another; `charsmaps` are those the steps name by number. */
export function normalizerOf(
  steps: readonly NormalizerStep[],
  charsmaps: readonly Charsmap[],
): (text: string) => string {
  const functions = steps.map((step) => functionOf(step, charsmaps));
  return (text) => functions.reduce((so, apply) => apply(so), text);
}

function functionOf(step: NormalizerStep, charsmaps: readonly Charsmap[]): (text: string) => string {
  switch (step.kind) {
    case 'bert':
      return (text) => bertNormalized(text, step);
    case 'precompiled': {
      const charsmap = charsmaps[step.charsmap];
      if (charsmap === undefined) throw new Error(`there is no charsmap ${step.charsmap}`);
      return (text) => charsmap.normalizeGraphemes(text);
    }
    case 'replace': {
      const { pattern, content } = step;
      if (pattern.kind === 'text') return (text) => text.replaceAll(pattern.text, () => content);
      const expression = expressionOf(pattern.source);
      if (expression === undefined) throw new Error(`the expression ${pattern.source} came through`);
      return (text) => text.replaceAll(expression, () => content);
    }
    case 'strip':
      return (text) => stripped(text, step.left, step.right);
    case 'unicode':
      return (text) => text.normalize(step.form);
    case 'lowercase':
      return lowercased;
    case 'strip_accents':
      return (text) => without(isMark, text);
    case 'prepend':
      return (text) => (text === '' ? '' : step.text + text);
  }
}

/** JavaScript's `trim` takes U+FEFF for white space and leaves U+0085. */
export function stripped(text: string, left: boolean, right: boolean): string {
  const start = left ? text.replace(/^\p{White_Space}+/u, '') : text;
  if (!right) return start;
  let end = start.length;
  // From behind by hand: an expression that ends with $ would look at every white space on the way.
  while (end > 0 && WHITE.test(start[end - 1] ?? '')) end--;
  return start.slice(0, end);
}

const WHITE = /^\p{White_Space}$/u;

/** Character by character, as the reference does; the whole text at once would write a final Σ as ς. */
function lowercased(text: string): string {
  if (!text.includes('Σ')) return text.toLowerCase();
  return text
    .split('Σ')
    .map((part) => part.toLowerCase())
    .join('σ');
}

const isRemoved = readRanges(REMOVED);
const isNonspacingMark = readRanges(NONSPACING_MARKS);
const isMark = readRanges(MARKS);

function bertNormalized(text: string, step: Extract<NormalizerStep, { kind: 'bert' }>): string {
  let out = text;
  if (step.cleanText) out = cleaned(out);
  if (step.spaceChinese) out = out.replaceAll(CHINESE, ' $& ');
  if (step.stripAccents) out = without(isNonspacingMark, out.normalize('NFD'));
  return step.lowercase ? lowercased(out) : out;
}

function cleaned(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  let out = '';
  for (const character of text) {
    if (WHITE.test(character) && !isRemoved(character.codePointAt(0) ?? 0)) out += ' ';
    else if (!isRemoved(character.codePointAt(0) ?? 0)) out += character;
  }
  return out;
}

function without(isUnwanted: (codePoint: number) => boolean, text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text;
  let out = '';
  for (const character of text) if (!isUnwanted(character.codePointAt(0) ?? 0)) out += character;
  return out;
}

/** The blocks of Chinese characters BERT knows; the last but two starts at U+2B920, as the reference has it. */
const CHINESE =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
