/** What is wrong with a file, as the end of a sentence that names the file. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Types {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
}

/** The field's value, undefined when it is absent or null; throws a `Fault` when it is of another type. */
export function readOptional<Type extends keyof Types>(
  record: Readonly<Record<string, unknown>>,
  key: string,
  type: Type,
): Types[Type] | undefined {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== type) throw new Fault(`its ${key} is not a ${type}`);
  // Of that type, as was just asked.
  return value as Types[Type];
}

export function readBoolean(
  record: Readonly<Record<string, unknown>>,
  key: string,
  whenAbsent: boolean,
): boolean {
  return readOptional(record, key, 'boolean') ?? whenAbsent;
}

export function readText(record: Readonly<Record<string, unknown>>, key: string): string {
  const text = readOptional(record, key, 'string');
  if (text === undefined) throw new Fault(`it lacks the text ${key}`);
  return text;
}
