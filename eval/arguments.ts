export interface EvalOptions {
  readonly data: readonly string[];
  readonly compare?: string;
  readonly json: boolean;
  /** Only the first so many questions of each set. */
  readonly cap: number;
  /** `packed` (the model of the program), `none`, or the folder of vectors made elsewhere. */
  readonly embedder: string;
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
  let cap = Number.POSITIVE_INFINITY;
  let embedder = 'packed';
  for (let i = 0; i < args.length; i++) {
    const value = args[i + 1];
    if (args[i] === '--json') json = true;
    else if (args[i] === '--misspelt') misspelt = true;
    else if (args[i] === '--among' && value !== undefined) among.push(args[++i]!);
    else if (args[i] === '--among-most' && Number(value) > 0) amongMost = Number(args[++i]);
    else if (args[i] === '--cap' && Number(value) > 0) cap = Number(args[++i]);
    else if (args[i] === '--embedder' && value !== undefined) embedder = args[++i]!;
    else if (args[i] === '--data' && value !== undefined) data.push(args[++i]!);
    else if (args[i] === '--compare' && value !== undefined) compare = args[++i]!;
    else return undefined;
  }
  return {
    data,
    json,
    cap,
    embedder,
    misspelt,
    among,
    amongMost,
    ...(compare === undefined ? {} : { compare }),
  };
}
