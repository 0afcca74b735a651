import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

it('the tasks of mise.toml call the npm scripts of the same name, which are there', () => {
  const toml = readFileSync(join(root, 'mise.toml'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const tasks = [...toml.matchAll(/^\[tasks\."?([\w:-]+)"?\][^[]*?^run = "(.*)"$/gm)];
  expect(tasks.map(([, name]) => name)).toEqual(expect.arrayContaining(['ci', 'docs:config']));
  expect(tasks).toHaveLength(toml.match(/^\[tasks\./gm)?.length ?? 0);
  for (const [, name = '', run] of tasks) {
    expect(run).toBe(`npm run ${name}`);
    expect(Object.keys(scripts)).toContain(name);
  }
});

it('pins the Node the project is developed with', () => {
  const toml = readFileSync(join(root, 'mise.toml'), 'utf8');
  expect(toml).toMatch(/^node = "20\.\d+\.\d+"$/m);
});
