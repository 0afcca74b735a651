import { MAX_DESCRIPTION, MAX_ID, MAX_NAME, cleaned, slugOf } from './text.ts';

/**
 * Reading what registries really send: keys in two spellings, fields missing or null, numbers where texts belong.
 * Each reader gives undefined (or nothing) for what is not there; none throws.
 */
export type Loose = Readonly<Record<string, unknown>>;

/** A document in none of the shapes the source knows; a search with no match is something else. */
export class UnrecognisedShape extends Error {
  override readonly name = 'UnrecognisedShape';
}

export function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; an empty one when it is none. */
export function objectIn(value: unknown): Loose {
  return isObject(value) ? value : {};
}

/** The objects of a list; what else stands in it is passed over. */
export function objectsIn(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The first of these keys that holds something, also in its other spelling (`isLatest`, `is_latest`). */
export function valueOf(object: Loose, ...keys: readonly string[]): unknown {
  for (const key of keys) {
    const value = object[key] ?? object[snake(key)];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

const snake = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The first of these keys that holds a text (or a number), as it stands; undefined when it is empty. */
export function rawText(object: Loose, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = valueOf(object, key);
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text === 'string' && text.trim() !== '') return text.trim();
  }
  return undefined;
}

export function nameIn(object: Loose, ...keys: readonly string[]): string | undefined {
  return capped(rawText(object, ...keys), MAX_NAME);
}

export function descriptionIn(object: Loose, ...keys: readonly string[]): string | undefined {
  return capped(rawText(object, ...keys), MAX_DESCRIPTION);
}

/** An id is kept as it is or not at all: a changed one would name nothing. */
export function idIn(object: Loose, ...keys: readonly string[]): string | undefined {
  const id = rawText(object, ...keys);
  return id === undefined || id.length > MAX_ID || id !== cleaned(id, MAX_ID) ? undefined : id;
}

function capped(text: string | undefined, length: number): string | undefined {
  const clean = text === undefined ? '' : cleaned(text, length);
  return clean === '' ? undefined : clean;
}

/** A moment in ISO 8601, whichever way it was written; undefined when it is none. */
export function momentIn(object: Loose, ...keys: readonly string[]): string | undefined {
  const text = rawText(object, ...keys);
  if (text === undefined || !/^\d{4}-\d\d-\d\d/.test(text)) return undefined;
  const moment = Date.parse(text);
  if (Number.isNaN(moment)) return undefined;
  return new Date(moment).toISOString().replace('.000Z', 'Z');
}

export function booleanIn(object: Loose, ...keys: readonly string[]): boolean | undefined {
  const value = valueOf(object, ...keys);
  return typeof value === 'boolean' ? value : undefined;
}

/** A page people or programs may open: http or https, without credentials. */
export function webUrlIn(object: Loose, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = rawText(object, key);
    if (text === undefined || text.length > 2_000 || !URL.canParse(text)) continue;
    const url = new URL(text);
    if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') continue;
    if (cleaned(text, 2_000) === text && !/[\s"'`<>\\]/.test(text)) return text;
  }
  return undefined;
}

/** Tags from a list of texts, or of objects with a `slug` or a `name`. */
export function tagsIn(...values: readonly unknown[]): readonly string[] {
  const tags = values
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .map((value) => (isObject(value) ? rawText(value, 'slug', 'name') : value))
    .filter((value): value is string => typeof value === 'string')
    .map(slugOf)
    .filter((tag) => tag !== '');
  return [...new Set(tags)].slice(0, 20);
}

/** The list in a document: the document itself, or what stands under the first of these keys that holds one. */
export function listIn(document: unknown, ...keys: readonly string[]): readonly unknown[] {
  if (Array.isArray(document)) return document;
  if (isObject(document)) {
    for (const key of keys) {
      const value = document[key];
      if (Array.isArray(value)) return value;
      // Some say null for an empty list, which is no other shape.
      if (value === null) return [];
    }
  }
  throw new UnrecognisedShape(`a list, or an object with ${keys.join(', ')}, was expected`);
}
