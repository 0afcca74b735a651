/** The parts we use of packages that come without types. */
declare module '@pnpm/npm-conf' {
  export default function npmConf(): { readonly config: { get(key: string): unknown } };
}

declare module 'ini' {
  export function parse(text: string): Record<string, unknown>;
}
