// The one file in plain JavaScript: it runs on this thread and as a worker, and a worker must be loadable by Node as
// it is, from the sources as well as from the build.
// @ts-check
import { isMainThread, parentPort, workerData } from 'node:worker_threads';

/** `workerData` of the thread this file starts as a checker. */
export const CHECKER = 'mcp-toolsearch-proxy argument checker';

/**
 * @typedef {{ readonly pointer: string, readonly message: string }} Problem
 *   One mismatch: `pointer` is a JSON pointer (RFC 6901) to the value, empty for the arguments as a whole.
 * @typedef {{ kind: 'fits' } | { kind: 'problems', problems: Problem[] } | { kind: 'unchecked', reason: string, isOverrun?: true }} Verdict
 *   `isOverrun`: it took longer than it may.
 * @typedef {(args: unknown) => Verdict} Check
 * @typedef {{ readonly [key: string]: unknown }} Schema
 */

const MAX_PROBLEMS = 10;

/** One compiler a dialect; compiled schemas are the caller's to keep. @type {Map<string, Promise<import('ajv').Ajv>>} */
const compilers = new Map();

/**
 * Compiles a schema of JSON Schema 2020-12 (the default dialect of MCP), 2019-09 or draft-07, by its `$schema`. Only
 * local references resolve; nothing is ever fetched. What cannot be compiled gives a check that says "unchecked".
 * @param {Schema} inputSchema
 * @returns {Promise<{ check: Check, forget: () => void }>} `forget` gives the compiled code back.
 */
export async function compileCheck(inputSchema) {
  const dialect = dialectOf(inputSchema['$schema']);
  if (dialect === undefined) return unchecked('its input schema is in a dialect this program does not know');
  // An `$id` would let one tool's schema answer for another's; the dialect is chosen, so `$schema` has done its work.
  const { $schema: _dialect, $id: _id, ...schema } = inputSchema;
  const compiler = await compilerOf(dialect);
  const forget = () => void compiler.removeSchema(schema);
  try {
    const validate = compiler.compile(schema);
    /** @type {Check} */
    const check = (args) => {
      try {
        if (validate(args)) return { kind: 'fits' };
      } catch {
        return { kind: 'unchecked', reason: 'its input schema cannot be evaluated' };
      }
      return { kind: 'problems', problems: problemsOf(validate.errors ?? []) };
    };
    return { check, forget };
  } catch {
    forget();
    return unchecked('its input schema cannot be compiled');
  }
}

/** @param {string} reason @returns {{ check: Check, forget: () => void }} */
function unchecked(reason) {
  return { check: () => ({ kind: 'unchecked', reason }), forget: () => undefined };
}

/** @param {unknown} $schema */
function dialectOf($schema) {
  if (typeof $schema !== 'string' || $schema.includes('2020-12')) return '2020-12';
  if ($schema.includes('2019-09')) return '2019-09';
  return /draft-0[67]/.test($schema) ? 'draft-07' : undefined;
}

/** @param {string} dialect */
function compilerOf(dialect) {
  let compiler = compilers.get(dialect);
  if (compiler === undefined) {
    compiler = openCompiler(dialect);
    compilers.set(dialect, compiler);
  }
  return compiler;
}

/** @param {string} dialect @returns {Promise<import('ajv').Ajv>} */
async function openCompiler(dialect) {
  /** @type {import('ajv').Options} */
  const options = {
    strict: false,
    validateSchema: false,
    addUsedSchema: false,
    validateFormats: false,
    logger: false,
    allErrors: true,
  };
  if (dialect === '2019-09') return new (await import('ajv/dist/2019.js')).Ajv2019(options);
  if (dialect === 'draft-07') return new (await import('ajv')).Ajv(options);
  return new (await import('ajv/dist/2020.js')).Ajv2020(options);
}

/**
 * What is wrong; at most ten, each said once.
 * @param {readonly import('ajv').ErrorObject[]} errors
 * @returns {Problem[]}
 */
export function problemsOf(errors) {
  /** @type {Map<string, Problem>} */
  const problems = new Map();
  for (const error of errors) {
    const problem = problemOf(error);
    problems.set(`${problem.pointer}\n${problem.message}`, problem);
    if (problems.size === MAX_PROBLEMS) break;
  }
  return [...problems.values()];
}

/** @param {import('ajv').ErrorObject} error @returns {Problem} */
function problemOf({ instancePath, keyword, params, message }) {
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

/** One reference token of a JSON pointer. @param {unknown} name */
function pointerPart(name) {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

if (!isMainThread && workerData === CHECKER) {
  const port = parentPort;
  port?.on('message', (/** @type {{ schema: Schema, args: unknown }} */ { schema, args }) => {
    void compileCheck(schema).then(({ check, forget }) => {
      const verdict = check(args);
      forget();
      port.postMessage(verdict);
    });
  });
  // Loading is not part of anybody's time limit.
  void compilerOf('2020-12').then(() => port?.postMessage('ready'));
}
