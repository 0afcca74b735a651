/**
 * Reads the very text of a value inside JSON text. A slow plain twin of the product's own scanner, written apart
 * from it on purpose: a test must not trust the code it tests.
 */
export function rawMember(text: string, ...path: readonly (string | number)[]): string | undefined {
  let at = text;
  for (const step of path) {
    const value: unknown = JSON.parse(at);
    if (typeof value !== 'object' || value === null) return undefined;
    let found: string | undefined;
    for (const [key, raw] of entries(at)) if (key === step) found = raw;
    if (found === undefined) return undefined;
    at = found;
  }
  return at.trim();
}

/** Keys (or indexes) and the raw texts of an object's (or an array's) values, in order. */
function entries(text: string): [string | number, string][] {
  const inner = text.trim();
  const isObject = inner.startsWith('{');
  const body = inner.slice(1, -1);
  if (body.trim() === '') return [];
  return splitAtTopLevel(body, ',').map((part, index) => {
    if (!isObject) return [index, part.trim()];
    const [key = '', ...rest] = splitAtTopLevel(part, ':');
    return [JSON.parse(key) as string, rest.join(':').trim()];
  });
}

function splitAtTopLevel(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let inString = false;
  let part = '';
  for (let at = 0; at < text.length; at++) {
    const c = text[at] as string;
    part += c;
    if (inString) {
      if (c === '\\') part += text[++at] ?? '';
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') depth--;
    else if (c === separator && depth === 0) {
      parts.push(part.slice(0, -1));
      part = '';
    }
  }
  parts.push(part);
  return parts;
}
