// @ts-check
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHECKS } from './release-checks.mjs';
import { openScene } from './release-scene.mjs';

/**
 * `npm run release:check [-- --out DIR] [--write] [NAME…]`: uses what `npm run release` made as somebody would who has
 * nothing but the files, each in an empty folder or root, and prints what they see. `--write` puts that into
 * docs/deploy.md. What cannot be tried on this machine is skipped with a word.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(root, 'docs/deploy.md');

process.exitCode = await main(process.argv.slice(2));

/** @param {readonly string[]} args */
async function main(args) {
  const out = resolve(args.find((_arg, i) => args[i - 1] === '--out') ?? join(root, 'release'));
  const names = args.filter((arg, i) => !arg.startsWith('--') && args[i - 1] !== '--out');
  if (!existsSync(join(out, 'SHA256SUMS'))) {
    console.error(`release-check: ${out} holds no release; "npm run release" makes one`);
    return 1;
  }
  let failed = 0;
  /** @type {Map<string, string>} */
  const transcripts = new Map();
  for (const [name, check] of Object.entries(CHECKS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const scene = openScene({ root, out });
    try {
      const skipped = await check(scene);
      if (skipped !== undefined) console.log(`${name}: skipped, ${skipped}\n`);
      else {
        console.log(`${name}: ok\n\n${scene.transcript()}\n`);
        transcripts.set(name, scene.transcript());
      }
    } catch (error) {
      failed += 1;
      console.log(scene.transcript());
      console.error(`${name}: FAILED: ${error instanceof Error ? error.message : String(error)}\n`);
    } finally {
      await scene.close();
    }
  }
  if (args.includes('--write')) writeFileSync(PAGE, withTranscripts(readFileSync(PAGE, 'utf8'), transcripts));
  return failed === 0 ? 0 : 1;
}

/**
 * @param {string} page
 * @param {ReadonlyMap<string, string>} transcripts by the names the page's marks give
 */
function withTranscripts(page, transcripts) {
  return page.replaceAll(/(<!-- transcript: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (all, start, name, end) => {
    const text = transcripts.get(name);
    return text === undefined ? all : `${start}\n\`\`\`console\n${text}\n\`\`\`\n\n${end}`;
  });
}
