export interface EvalOptions {
  readonly data: readonly string[];
  readonly compare?: string;
  readonly json: boolean;
  /** Half of the longer words misspelt once. */
  readonly misspelt: boolean;
  /** Foreign tools among which the right ones must be found, from these folders, and how many of them. */
  readonly among: readonly string[];
  readonly amongMost: number;
}

/** What `npm run eval` was asked for; undefined when it does not understand the arguments. */
export function optionsFrom(args: readonly string[]): EvalOptions | undefined {
  const data: string[] = [];
  let compare: string | undefined;
  const among: string[] = [];
  let amongMost = Number.POSITIVE_INFINITY;
  let json = false;
  let misspelt = false;
  for (let i = 0; i < args.length; i++) {
    const value = args[i + 1];
    if (args[i] === '--json') json = true;
    else if (args[i] === '--misspelt') misspelt = true;
    else if (args[i] === '--among' && value !== undefined) among.push(args[++i]!);
    else if (args[i] === '--among-most' && Number(value) > 0) amongMost = Number(args[++i]);
    else if (args[i] === '--data' && value !== undefined) data.push(args[++i]!);
    else if (args[i] === '--compare' && value !== undefined) compare = args[++i]!;
    else return undefined;
  }
  return { data, json, misspelt, among, amongMost, ...(compare === undefined ? {} : { compare }) };
}
