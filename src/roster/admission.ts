import type { JsonObject, Tool } from '../catalog/tool.ts';
import type { Approval, PinnedTool } from './approval-state.ts';

/** A tool that is kept from the caller until a person approves it. */
export interface Withheld {
  readonly name: string;
  /** `changed`: its definition is not the pinned one. `new`: it was not there when the definitions were pinned. */
  readonly kind: 'changed' | 'new';
  readonly differences: readonly Difference[];
}

/** One part of a definition that is not as it was; each side absent where there is none. */
export interface Difference {
  readonly part: 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations';
  readonly before?: string;
  readonly after?: string;
}

export interface Admission {
  readonly admitted: readonly Tool[];
  readonly withheld: readonly Withheld[];
}

/** What may be used of a listing: the tools whose definitions are the pinned ones, to the letter. */
export function admit(tools: readonly Tool[], { tools: pins }: Approval): Admission {
  if (pins === undefined) return { admitted: tools, withheld: [] };
  const admitted: Tool[] = [];
  const withheld: Withheld[] = [];
  for (const tool of tools) {
    const pin = Object.hasOwn(pins, tool.name) ? pins[tool.name] : undefined;
    if (pin === undefined)
      withheld.push({ name: tool.name, kind: 'new', differences: differences({}, tool) });
    else if (pin.digest === tool.digest) admitted.push(tool);
    else withheld.push({ name: tool.name, kind: 'changed', differences: differences(pin, tool) });
  }
  return { admitted, withheld };
}

/** Most characters of definitions kept whole for one upstream; of larger ones only the digests are. */
const MAX_PINNED = 4_194_304;

/** What is kept of definitions, to hold later ones to them and to show what changed. */
export function pinsOf(tools: readonly Tool[]): Readonly<Record<string, PinnedTool>> {
  const pins = Object.fromEntries(tools.map(({ name, ...definition }) => [name, definition]));
  if (JSON.stringify(pins).length <= MAX_PINNED) return pins;
  const bare = { description: '', inputSchema: {}, annotations: {} };
  return Object.fromEntries(tools.map(({ name, digest }) => [name, { ...bare, digest }]));
}

const PARTS = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

function differences(before: Partial<PinnedTool>, after: Partial<PinnedTool>): readonly Difference[] {
  return PARTS.flatMap((part): Difference[] => {
    const [old, now] = [textOf(before[part]), textOf(after[part])];
    if (old === now) return [];
    return [
      { part, ...(old === undefined ? {} : { before: old }), ...(now === undefined ? {} : { after: now }) },
    ];
  });
}

function textOf(value: string | object | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(sorted(value), undefined, 2);
}

/** Keys in order at every depth: their order is no difference. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value as JsonObject).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(members.map(([key, inner]) => [key, sorted(inner)]));
}
