/** Any JSON object, as it came over the wire. */
export type JsonObject = { readonly [key: string]: unknown };

/** What an upstream claims about a tool's behaviour (MCP `ToolAnnotations`); hints, never proof. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/**
 * One MCP tool as its upstream defines it, before any renaming.
 *
 * `inputSchema` and `outputSchema` are kept as sent: a schema without `type`, with a root `anyOf` or in an
 * unknown dialect is still a tool somebody can call. They are untrusted data.
 */
export interface Tool {
  /** The tool's own name at its upstream. */
  readonly name: string;
  /** A human title (`title`, else `annotations.title`), when the upstream gave one. */
  readonly title?: string;
  /** Empty when the upstream gave none. */
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: ToolAnnotations;
  /**
   * Identifies the whole definition: equal digests mean equal name, title, description, schemas and
   * annotations, whatever the order of keys. SHA-256 in base64url, computed where the listing comes in,
   * because this room has no crypto.
   */
  readonly digest: string;
}
