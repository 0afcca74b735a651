import { parseCommandLine } from '../../src/cli/command-line.ts';

/** A document by its path from the root of the project, with slashes. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

/** What is wrong with the relative links of these documents: a missing file, or a heading that is not there. */
export function wrongLinks(documents: readonly Document[], exists: (path: string) => boolean): string[] {
  const wrong: string[] = [];
  const headings = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));
  for (const { path, text } of documents) {
    for (const [, target = ''] of withoutCode(text).matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const to = file === '' ? path : resolved(path, decodeURIComponent(file));
      if (!exists(to)) wrong.push(`${path}: there is no ${to}`);
      else if (anchor !== undefined && headings.has(to) && !headings.get(to)?.has(anchor))
        wrong.push(`${path}: ${to} has no heading #${anchor}`);
    }
  }
  return wrong;
}

function resolved(from: string, target: string): string {
  const parts = target.startsWith('/') ? [] : from.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#{1,6}\s+(.+?)\s*$/gm)) {
    const base = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

const FENCE = /^ *(```+|~~~+)([\w-]*)[^\n]*\n([\s\S]*?)^ *\1 *$/gm;

function withoutCode(text: string): string {
  return text.replaceAll(FENCE, '').replaceAll(/`[^`\n]*`/g, (inline) => inline.replaceAll(/[[\]()]/g, ' '));
}

/** A fenced block and the language it names. */
export function blocksOf(text: string): { readonly language: string; readonly text: string }[] {
  return [...text.matchAll(FENCE)].map(([, , language = '', inside = '']) => ({ language, text: inside }));
}

const PROGRAM = /(?:^|[\s(])(?:mcpproxy|mcp-toolsearch-proxy(?:@[\w.-]+)?)(?=\s|$)/;

/** Every command line of ours that a document quotes, without the program's name: as blocks and within a sentence. */
export function commandsIn(text: string): string[] {
  const lines = blocksOf(text).flatMap(({ language, text: inside }) => {
    const joined = inside.replaceAll(/\\\n\s*/g, ' ').split('\n');
    // What the program itself calls a mistake is shown as one.
    if (language === 'console')
      return joined.filter((line, n) => /^[$>] /.test(line) && !joined[n + 1]?.startsWith('mcpproxy: '));
    return /^(?:sh|bash|shell|zsh|fish|powershell)$/.test(language) ? joined : [];
  });
  const inline = [...text.replaceAll(FENCE, '').matchAll(/`([^`\n]+)`/g)].map(([, inside = '']) => inside);
  // A sentence may name a command without what it needs.
  const quoted = inline
    .filter((inside) => /^(?:mcpproxy|mcp-toolsearch-proxy) /.test(inside))
    .map((inside) => (/^\S+ [\w-]+$/.test(inside) ? `${inside} --help` : inside));
  return [...lines, ...quoted].flatMap((line) => {
    const found = PROGRAM.exec(line);
    return found === null ? [] : [line.slice(found.index + found[0].length).trim()];
  });
}

/** What our own parser says of a quoted command line, in which N stands for a number. */
export async function mistakesIn(command: string): Promise<readonly string[]> {
  const words = wordsOf(command).map((word) => (word === 'N' ? '5' : word));
  return (await parseCommandLine(words)).mistakes;
}

/** As a shell would take it apart, up to a pipe, a redirection, a comment or the next command. */
export function wordsOf(command: string): string[] {
  const words: string[] = [];
  for (const [word] of command.matchAll(/(?:[^\s'"]|'[^']*'|"(?:[^"\\]|\\.)*")+/g)) {
    if (/^(?:\\?\||>|<|2>|&&|;|#)/.test(word)) break;
    // `[--yes]` is how a document says that something may be left out.
    const plain = word.replaceAll(/^\[|[\]);]+$/g, '').replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"/g, '$1$2');
    if (plain !== '') words.push(plain);
  }
  return words;
}
