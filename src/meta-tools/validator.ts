import { LRUCache } from 'lru-cache';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { JsonObject, Tool } from '../catalog/tool.ts';

/** One mismatch between arguments and schema. */
export interface Problem {
  /** JSON pointer (RFC 6901) to the value it is about; empty for the arguments as a whole. */
  readonly pointer: string;
  readonly message: string;
}

export type Verdict =
  | { readonly kind: 'fits' }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }
  /** The schema could not be used; the call goes on, and the upstream is the judge. */
  | { readonly kind: 'unchecked'; readonly reason: string };

/** Checks arguments against a tool's own input schema. Asynchronous, because checking may move off this thread. */
export type ArgumentValidator = (tool: Tool, args: { readonly [key: string]: unknown }) => Promise<Verdict>;

/** Compiled schemas kept; one takes a few kilobytes. */
const MAX_COMPILED = 500;
const MAX_PROBLEMS = 10;

type Dialect = '2020-12' | '2019-09' | 'draft-07';

interface Compiler {
  compile(schema: JsonObject): ValidateFunction;
  removeSchema(schema: JsonObject): unknown;
}

interface Compiled {
  readonly validate: ValidateFunction | undefined;
  readonly reason: string;
  readonly forget: () => void;
}

/**
 * A validator for JSON Schema 2020-12 (the default dialect of MCP), 2019-09 and draft-07 by `$schema`. Only local
 * `$ref`s resolve; nothing is ever fetched. A schema that is too large or cannot be compiled means "unchecked".
 */
export function createArgumentValidator(limits: { readonly maxSchemaBytes: number }): ArgumentValidator {
  const compilers = new Map<Dialect, Promise<Compiler>>();
  const compiled = new LRUCache<string, Compiled>({
    max: MAX_COMPILED,
    dispose: (schema) => schema.forget(),
  });

  async function compilerOf(dialect: Dialect): Promise<Compiler> {
    let compiler = compilers.get(dialect);
    if (compiler === undefined) {
      compiler = openCompiler(dialect);
      compilers.set(dialect, compiler);
    }
    return compiler;
  }

  async function compile(tool: Tool): Promise<Compiled> {
    const known = compiled.get(tool.digest);
    if (known !== undefined) return known;
    const result = await compileSchema(tool.inputSchema, limits.maxSchemaBytes, compilerOf);
    compiled.set(tool.digest, result);
    return result;
  }

  return async (tool, args) => {
    const { validate, reason } = await compile(tool);
    if (validate === undefined) return { kind: 'unchecked', reason };
    try {
      if (validate(args)) return { kind: 'fits' };
    } catch {
      return { kind: 'unchecked', reason: 'its input schema cannot be evaluated' };
    }
    return { kind: 'problems', problems: problemsOf(validate.errors ?? []) };
  };
}

async function compileSchema(
  inputSchema: JsonObject,
  maxBytes: number,
  compilerOf: (dialect: Dialect) => Promise<Compiler>,
): Promise<Compiled> {
  const unchecked = (reason: string): Compiled => ({ validate: undefined, reason, forget: () => undefined });
  const dialect = dialectOf(inputSchema);
  if (dialect === undefined) return unchecked('its input schema is in a dialect this program does not know');
  if (JSON.stringify(inputSchema).length > maxBytes) {
    return unchecked(`its input schema is larger than ${maxBytes} bytes (limit maxSchemaBytes)`);
  }
  // An `$id` would let one tool's schema answer for another's; the dialect is chosen, so `$schema` has done its work.
  const { $schema: _dialect, $id: _id, ...schema } = inputSchema;
  const compiler = await compilerOf(dialect);
  try {
    const validate = compiler.compile(schema);
    return { validate, reason: '', forget: () => compiler.removeSchema(schema) };
  } catch {
    compiler.removeSchema(schema);
    return unchecked('its input schema cannot be compiled');
  }
}

function dialectOf(schema: JsonObject): Dialect | undefined {
  const { $schema } = schema;
  if (typeof $schema !== 'string' || $schema.includes('2020-12')) return '2020-12';
  if ($schema.includes('2019-09')) return '2019-09';
  return /draft-0[67]/.test($schema) ? 'draft-07' : undefined;
}

async function openCompiler(dialect: Dialect): Promise<Compiler> {
  const options = {
    strict: false,
    validateSchema: false,
    addUsedSchema: false,
    validateFormats: false,
    logger: false,
    allErrors: true,
    // Unicode-aware patterns are the standard's; a pattern that is not valid so makes its schema unchecked.
    unicodeRegExp: true,
    inlineRefs: false,
  } as const;
  switch (dialect) {
    case '2020-12':
      return new (await import('ajv/dist/2020.js')).Ajv2020(options);
    case '2019-09':
      return new (await import('ajv/dist/2019.js')).Ajv2019(options);
    case 'draft-07':
      return new (await import('ajv')).Ajv(options);
  }
}

/** What is wrong, nearest to the value first; at most ten, each said once. */
export function problemsOf(errors: readonly ErrorObject[]): readonly Problem[] {
  const problems = new Map<string, Problem>();
  for (const error of errors) {
    const problem = problemOf(error);
    problems.set(`${problem.pointer}\n${problem.message}`, problem);
    if (problems.size === MAX_PROBLEMS) break;
  }
  return [...problems.values()];
}

function problemOf({ instancePath, keyword, params, message }: ErrorObject): Problem {
  switch (keyword) {
    case 'required':
      return { pointer: `${instancePath}/${pointerPart(params['missingProperty'])}`, message: 'is required' };
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = params['additionalProperty'] ?? params['unevaluatedProperty'];
      return { pointer: `${instancePath}/${pointerPart(name)}`, message: 'is not a property of this tool' };
    }
    case 'enum': {
      const allowed = JSON.stringify(params['allowedValues']);
      const shown = allowed.length > 300 ? `${allowed.slice(0, 300)}…` : allowed;
      return { pointer: instancePath, message: `must be one of ${shown}` };
    }
    case 'const':
      return { pointer: instancePath, message: `must be ${JSON.stringify(params['allowedValue'])}` };
    default:
      return { pointer: instancePath, message: message ?? `does not satisfy ${keyword}` };
  }
}

/** One reference token of a JSON pointer. */
function pointerPart(name: unknown): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
