import { Fault, isRecord } from './json-fields.ts';

/** What a normalizer replaces: a text as it stands, or what an expression matches. */
export type Pattern =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'expression'; readonly source: string };

/**
 * Reads `{"String": "…"}` or `{"Regex": "…"}`. Of regular expressions (Oniguruma's, in that library) only flat ones
 * of a few parts are taken, such as `\s+`: all that embedding models use, and none that takes long on a hostile text.
 */
export function readPattern(json: unknown): Pattern {
  if (!isRecord(json)) throw new Fault('its Replace has no pattern');
  const { String: text, Regex: source } = json;
  if (typeof text === 'string' && text !== '') return { kind: 'text', text };
  if (typeof source === 'string' && expressionOf(source) !== undefined) return { kind: 'expression', source };
  throw new Fault(`its Replace has the pattern ${JSON.stringify(json)}, which is not supported`);
}

/** The same expression for JavaScript, where `\s` would mean other characters; undefined when it is not supported. */
export function expressionOf(source: string): RegExp | undefined {
  const parts: string[] = [];
  let rest = source;
  while (rest !== '') {
    const [matched, atom, quantifier] = PART.exec(rest) ?? [];
    if (matched === undefined || atom === undefined) return undefined;
    parts.push(translated(atom) + (quantifier ?? ''));
    rest = rest.slice(matched.length);
  }
  if (parts.length === 0 || parts.length > MAX_PARTS) return undefined;
  try {
    return new RegExp(parts.join(''), 'gu');
  } catch {
    return undefined;
  }
}

/** More parts that repeat could make a match take time that grows with a high power of the text's length. */
const MAX_PARTS = 3;

const ESCAPE = String.raw`\\(?:[sSdDtnr]|[pP]\{\^?[A-Za-z_]+\}|[^A-Za-z0-9])`;
/** One character or class, and how often. Two repetitions in a row mean something of their own in Oniguruma. */
const PART = new RegExp(
  String.raw`^(${ESCAPE}|\[\^?(?:${ESCAPE}|[^\\\[\]&^])+\]|[^\\[\](){}^$.|*+?])([*+]|\{\d{1,3}(?:,\d{0,3})?\})?(?![*+?{])`,
  'u',
);

function translated(atom: string): string {
  return atom.replaceAll(
    /\\([pP])\{\^|\\(.)/gsu,
    (whole, property: string | undefined, character: string | undefined) => {
      if (property !== undefined) return `\\${property === 'p' ? 'P' : 'p'}{`;
      if (character === undefined || /[pPtnr]/.test(character)) return whole;
      return ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
    },
  );
}

const ESCAPES: Readonly<Record<string, string>> = {
  s: String.raw`\p{White_Space}`,
  S: String.raw`\P{White_Space}`,
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
};
