/** Node with nothing in it: answers the first line. What starting costs at least. */
process.stdin.setEncoding('utf8').on('data', (line: string) => {
  const { id } = JSON.parse(line.split('\n')[0] ?? '{}') as { readonly id?: unknown };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`);
});
process.stdin.on('end', () => process.exit(0));
