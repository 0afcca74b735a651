export interface EvalOptions {
  readonly data: readonly string[];
  readonly compare?: string;
  readonly json: boolean;
}

/** What `npm run eval` was asked for; undefined when it does not understand the arguments. */
export function optionsFrom(args: readonly string[]): EvalOptions | undefined {
  const data: string[] = [];
  let compare: string | undefined;
  let json = false;
  for (let i = 0; i < args.length; i++) {
    const value = args[i + 1];
    if (args[i] === '--json') json = true;
    else if (args[i] === '--data' && value !== undefined) data.push(args[++i]!);
    else if (args[i] === '--compare' && value !== undefined) compare = args[++i]!;
    else return undefined;
  }
  return { data, json, ...(compare === undefined ? {} : { compare }) };
}
