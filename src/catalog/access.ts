import { matchesPattern } from './pattern.ts';
import type { Tool } from './tool.ts';

/** Whether calling a tool may change anything. What is not known to be a read is a write. */
export type Access = 'read' | 'write';

export interface AccessRules {
  /** Whether the upstream's annotations count: true for what the operator configured or a person approved. */
  readonly trusted: boolean;
  /** Patterns of tools that are writes whatever their upstream says; matched against own and exposed names. */
  readonly writeTools: readonly string[];
}

/**
 * A tool is a read only when its upstream is trusted, says `readOnlyHint: true`, and no pattern makes it a write
 * (MCP 2026-07-28 calls annotations untrusted unless the server is trusted).
 */
export function accessOf(tool: Tool, exposedName: string, rules: AccessRules): Access {
  if (!rules.trusted || tool.annotations.readOnlyHint !== true) return 'write';
  const isListed = rules.writeTools.some(
    (p) => matchesPattern(p, tool.name) || matchesPattern(p, exposedName),
  );
  return isListed ? 'write' : 'read';
}
