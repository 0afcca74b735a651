// @ts-check
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/**
 * `node compatibility-tap.mjs LOG COMMAND ARGUMENTS…`: stands between the proxy and a server, as a package runner
 * does, passes every byte on, and writes down what went by and when. It is how the run knows what a server really
 * sent.
 */

const [log = '', command = '', ...args] = process.argv.slice(2);
const startedAt = Date.now();

/** @param {object} entry */
const write = (entry) => appendFileSync(log, `${JSON.stringify({ ms: Date.now() - startedAt, ...entry })}\n`);

const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
child.once('error', (error) => write({ at: 'error', line: error.message }));

/**
 * @param {NodeJS.ReadableStream} from
 * @param {NodeJS.WritableStream} to
 * @param {'in' | 'out' | 'err'} at
 */
function pass(from, to, at) {
  let rest = '';
  const decoder = new TextDecoder();
  from.on('data', (chunk) => {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) write({ at, line });
    // Written down first: whoever has seen an answer finds it in the log.
    to.write(chunk);
  });
  from.on('end', () => {
    if (rest !== '') write({ at, line: rest });
  });
  to.on('error', () => undefined);
}

pass(process.stdin, child.stdin, 'in');
pass(child.stdout, process.stdout, 'out');
pass(child.stderr, process.stderr, 'err');
process.stdin.on('end', () => {
  write({ at: 'stdin-end' });
  child.stdin.end();
});
// The server is in the same process group and hears the signal itself; the end of it is what the tap waits for.
process.on('SIGTERM', () => write({ at: 'sigterm' }));
child.once('close', (code, signal) => {
  write({ at: 'exit', code, signal });
  process.exit(code ?? 1);
});
