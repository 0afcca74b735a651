/**
 * Whether `name` fits `pattern`, in which `*` stands for any run of characters (also none) and everything else for
 * itself, case included. Takes time linear in pattern × name: there is no regular expression that a pattern could
 * make slow.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  if (parts.length === 1) return name === pattern;
  if (!name.startsWith(first)) return false;
  const last = parts[parts.length - 1] ?? '';
  const end = name.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return at <= end && name.endsWith(last);
}
