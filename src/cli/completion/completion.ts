import { didYouMean } from '../../config/nearest.ts';
import { quoted } from '../../config/problem.ts';
import type { Context } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { powershellCompletion } from './powershell.ts';
import { SHELLS } from './words.ts';
import type { Shell } from './words.ts';
import { zshCompletion } from './zsh.ts';

/** Prints the completions of a shell, made from the commands and the settings there are. */
export async function completion({ output, line }: Context): Promise<number> {
  const [name = ''] = line.operands;
  const shell = SHELLS.find(
    (known) => known === name.toLowerCase() || (known === 'powershell' && name === 'pwsh'),
  );
  if (shell === undefined) {
    const near = await didYouMean(name, SHELLS);
    output.error(`there are no completions for ${quoted(name)}; give one of ${SHELLS.join(', ')}.${near}`);
    return EXIT.usage;
  }
  await output.print(completionOf(shell));
  return EXIT.done;
}

export function completionOf(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bashCompletion();
    case 'zsh':
      return zshCompletion();
    case 'fish':
      return fishCompletion();
    case 'powershell':
      return powershellCompletion();
  }
}
