import { expect } from 'vitest';
import type { ServerAnswer } from '../../src/registry/server-finder.ts';

export const ENTRY_KEYS = [
  'id',
  'name',
  'title',
  'description',
  'url',
  'connectUrl',
  'source_code_url',
  'installCmd',
  'launch',
  'repository_info',
  'required_inputs',
  'transport',
  'tags',
  'updatedAt',
  'createdAt',
  'registry',
  'registry_id',
] as const;

/** What holds for every answer, whichever registry it is of and whatever strangers wrote into it. */
export function expectSoundAnswer(answer: ServerAnswer): void {
  expect(answer.returned).toBe(answer.servers.length);
  expect(answer.matched).toBeGreaterThanOrEqual(answer.returned);
  for (const entry of answer.servers) {
    expect(Object.keys(entry)).toEqual(expect.arrayContaining([...ENTRY_KEYS]));
    for (const url of [entry.url, entry.source_code_url]) {
      if (url !== null) expect(new URL(url).protocol, url).toMatch(/^https?:$/);
    }
    expect(entry.installCmd ?? 'npm install x').toMatch(
      /^(?:npm install [@\w./~-]+|pip install [\w.-]+|docker run -i --rm [\w./:@-]+)$/,
    );
    if (entry.launch !== null) expect(['npx', 'uvx', 'dnx', 'docker']).toContain(entry.launch[0]);
    for (const text of [entry.name, entry.title, entry.description, ...entry.tags]) {
      expect((text ?? '').length).toBeLessThanOrEqual(500);
      expect(text ?? '').not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  }
}
