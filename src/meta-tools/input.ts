import type { ValidateFunction } from 'ajv';
import type { MetaToolDefinition } from './definitions.ts';
import { problemsOf } from './check-arguments.mjs';

/** A meta-tool's own input, settled, or the words with which it is refused. */
export type ReadInput =
  | { readonly kind: 'input'; readonly value: unknown }
  | { readonly kind: 'unusable'; readonly text: string };

/**
 * Reads meta-tools' inputs by the very schemas the model sees. What models write instead of the right type is taken
 * where it is plain what they mean (`"5"` for 5, one name for a list of one); `arguments` is left as sent.
 */
export function createInputReader(
  definitions: readonly MetaToolDefinition[],
): (name: string, input: string) => Promise<ReadInput> {
  const validators = new Map<string, Promise<ValidateFunction>>();

  async function compile(definition: MetaToolDefinition): Promise<ValidateFunction> {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    return new Ajv2020({ strict: false, allErrors: true, coerceTypes: 'array' }).compile(
      withoutArguments(definition.inputSchema),
    );
  }

  return async (name, input) => {
    const definition = definitions.find((candidate) => candidate.name === name);
    if (definition === undefined) throw new Error(`no meta-tool is called ${name}`);
    let validator = validators.get(name);
    if (validator === undefined) {
      validator = compile(definition);
      validators.set(name, validator);
    }
    const validate = await validator;
    const value: unknown = JSON.parse(input);
    if (validate(value)) return { kind: 'input', value };
    const lines = problemsOf(validate.errors ?? []).map(({ pointer, message }) =>
      `- ${pointer} ${message}`.replace('-  ', '- '),
    );
    return {
      kind: 'unusable',
      text: `Not done: the input does not fit ${name}.\n${lines.join('\n')}\nIts input schema: ${JSON.stringify(definition.inputSchema)}`,
    };
  };
}

/** The schema without what it says of `arguments`, which `readArguments` reads with more patience. */
function withoutArguments(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'arguments' ? {} : value,
  ) as object;
}
