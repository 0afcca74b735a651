/** `npm run bench -- NAME [ARGUMENTS]`: runs bench/NAME.ts; each prints the table it stands for. */
const [name = '', ...args] = process.argv.slice(2);

if (!/^[a-z-]+$/.test(name)) {
  console.error('npm run bench -- NAME [ARGUMENTS]; NAME is a file of bench/ such as "search"');
  process.exit(2);
}
const { run } = (await import(new URL(`${name}.js`, import.meta.url).href)) as {
  run: (args: readonly string[]) => unknown;
};
await run(args);
