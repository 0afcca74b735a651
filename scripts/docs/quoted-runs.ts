/** A command line of ours that a document shows with what it prints. */
export interface QuotedRun {
  /** Without the program's name. */
  readonly command: string;
  readonly shown: string;
}

const BLOCK = /(^```\w*\n\$ (?:npx -y )?(?:mcpproxy|mcp-toolsearch-proxy) ([^\n]+)\n)([^]*?)(^```$)/gm;
/** A line that stands for lines left out. */
const ELISION = '…';

/** The runs a document shows: fenced blocks that begin with a command of ours and hold no other. */
export function quotedRuns(text: string): QuotedRun[] {
  return [...text.matchAll(BLOCK)]
    .filter(([, , , shown = '']) => !/^\$ /m.test(shown))
    .map(([, , command = '', shown = '']) => ({ command, shown }));
}

/**
 * The document with what its commands print now. As many lines are shown before and after the line that stands for
 * those left out as there were; `said` gives what a command prints, or nothing for one that is not to be run.
 */
export function withFreshRuns(text: string, said: (run: QuotedRun) => string | undefined): string {
  return text.replaceAll(BLOCK, (whole, begin: string, command: string, shown: string, end: string) => {
    if (/^\$ /m.test(shown)) return whole;
    const printed = said({ command, shown });
    return printed === undefined ? whole : `${begin}${cutAs(shown, printed)}${end}`;
  });
}

/** A part of a longer output, between the lines of a document that begin and end it. */
function cutAs(shown: string, printed: string): string {
  const lines = shown.trimEnd().split('\n');
  const at = lines.indexOf(ELISION);
  const all = printed.trimEnd().split('\n');
  if (at === -1) return `${all.join('\n')}\n`;
  const after = lines.length - at - 1;
  return `${[...all.slice(0, at), ELISION, ...(after === 0 ? [] : all.slice(-after))].join('\n')}\n`;
}
