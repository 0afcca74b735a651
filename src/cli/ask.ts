import { Writable } from 'node:stream';

/** Where questions are put, and answers come from. */
export interface Asking {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** A person's yes; no answer (the terminal closed, or Ctrl-C) is a no. */
export async function isConfirmed(question: string, asking: Asking): Promise<boolean> {
  const answer = await askLine(`${question} [y/N] `, asking);
  return answer !== undefined && /^y(es)?$/i.test(answer.trim());
}

/** A line somebody types; undefined when they leave. With `isHidden` nothing of it is shown. */
export async function askLine(
  question: string,
  { input, output, signal }: Asking,
  { isHidden = false }: { readonly isHidden?: boolean } = {},
): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  if (signal.aborted) return undefined;
  let isQuestionOut = false;
  // The line editor writes back what is typed; of a secret only the question itself gets through.
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden || !isQuestionOut) output.write(chunk);
      done();
    },
  });
  const prompt = createInterface({ input, output: shown, terminal: true, historySize: 0 });
  // While a line is read the terminal sends no signal for Ctrl-C; what waits for one is told here.
  prompt.on('SIGINT', () => process.emit('SIGINT'));
  const onAbort = (): void => prompt.close();
  signal.addEventListener('abort', onAbort, { once: true });
  return new Promise((resolve) => {
    prompt.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      resolve(undefined);
    });
    prompt.question(question, (answer) => {
      if (isHidden) output.write('\n');
      resolve(answer);
      prompt.close();
    });
    isQuestionOut = true;
  });
}
