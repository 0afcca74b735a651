/** What somebody has to give before a server can be used. Secrets are only ever named here, never asked for. */
export interface RequiredInput {
  readonly name: string;
  readonly description?: string;
  readonly required: boolean;
  readonly secret: boolean;
  readonly default: string | null;
  readonly choices: readonly string[] | null;
}

/** What was found out about a package in its own registry. */
export interface PackageFacts {
  readonly type: 'npm' | 'pypi';
  readonly package_name: string;
  readonly version: string | null;
  readonly description: string | null;
  readonly install_cmd: string;
  /** The page people read about it. */
  readonly url: string;
  /** `null`: its registry could not be asked. */
  readonly exists: boolean | null;
  /** The package itself names this server or its repository: it belongs to it, and not just to a like name. */
  readonly verified: boolean;
}

/** Another way to reach or run the same server. */
export type Alternative =
  | {
      readonly kind: 'remote';
      readonly transport: string;
      readonly url: string;
      readonly headers: readonly RequiredInput[];
      readonly variables: readonly RequiredInput[];
    }
  | {
      readonly kind: 'package';
      readonly type: string;
      readonly identifier: string;
      readonly version: string | null;
      readonly launch: readonly string[] | null;
      readonly env: readonly RequiredInput[];
    };

/**
 * One server as a search shows it: on the command line, over MCP and in code the same. The keys are printed as they
 * stand; what a registry does not say is `null` or empty, never left out.
 */
export interface ServerEntry {
  readonly id: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  /** A real MCP endpoint and nothing else: ready to connect to. */
  readonly url: string | null;
  /** A second endpoint, or the template of `url` with the places `required_inputs.url` fills. */
  readonly connectUrl: string | null;
  readonly source_code_url: string | null;
  /** The command that installs its package, for people. */
  readonly installCmd: string | null;
  /** The program and arguments that run it, one text each. Nobody runs them here. */
  readonly launch: readonly string[] | null;
  readonly repository_info: { readonly npm: PackageFacts | null; readonly pypi: PackageFacts | null };
  readonly required_inputs: {
    readonly env: readonly RequiredInput[];
    readonly headers: readonly RequiredInput[];
    readonly url: readonly RequiredInput[];
    /** Places in `launch` written `{name}`; only present when there are some. */
    readonly args?: readonly RequiredInput[];
  };
  readonly transport: string | null;
  readonly tags: readonly string[];
  readonly updatedAt: string | null;
  readonly createdAt: string | null;
  /** The registry's display name. */
  readonly registry: string;
  readonly registry_id: string;
  /** Every package and remote, when there is more than one. */
  readonly alternatives?: readonly Alternative[];
  /** What to know before using it, such as why it cannot be run. */
  readonly notes?: readonly string[];
}
