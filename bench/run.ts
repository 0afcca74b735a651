/**
 * `npm run bench -- NAME [ARGUMENTS]`: runs bench/NAME.ts; each prints the table it stands for. Without a name it
 * runs what tells of the program as a whole.
 */
const [name, ...args] = process.argv.slice(2);

if (name !== undefined && !/^[a-z-]+$/.test(name)) {
  console.error('npm run bench -- NAME [ARGUMENTS]; NAME is a file of bench/ such as "search"');
  process.exit(2);
}
for (const one of name === undefined ? ['calls', 'start', 'memory'] : [name]) {
  if (name === undefined) console.log(`## ${one}\n`);
  const { run } = (await import(new URL(`${one}.js`, import.meta.url).href)) as {
    run: (args: readonly string[]) => unknown;
  };
  await run(args);
}
