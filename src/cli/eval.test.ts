import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownHome, startProgram } from '../../test/support/proxy.ts';
import { startStub, stubTool } from '../../test/support/stub-upstream.ts';

async function evaluated(
  lines: readonly string[],
  more: readonly string[] = [],
): Promise<{ code: unknown; out: string; err: string }> {
  const stub = await startStub({
    tools: [
      stubTool('ring_bell', { description: 'Ring the harbour bell' }),
      stubTool('sound_horn', { description: 'Sound the fog horn' }),
    ],
  });
  const { home } = ownHome();
  const file = join(home, 'questions.jsonl');
  writeFileSync(file, lines.join('\n'));
  const running = await startProgram(['eval', '--embedder', 'none', '--questions', file, ...more], {
    config: { mcpServers: { harbour: { url: stub.url } } },
  });
  running.child.stdin?.end();
  return { code: await running.exited, out: running.stdout(), err: running.stderr() };
}

const BELL = '{"query":"ring the bell","relevant":"ring_bell"}';

describe('mcpproxy eval', () => {
  it('measures the search over the upstreams there are', async () => {
    const { code, out } = await evaluated(
      ['# ours', BELL, '{"query":"fog","relevant":["sound_horn"],"lang":"lt"}'],
      ['-o', 'json'],
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      languages: [
        { language: 'en', questions: 1, scores: { recall1: { mean: 1 } } },
        { language: 'lt', questions: 1, scores: { recall1: { mean: 1 } } },
      ],
      problems: [],
      unknown: [],
      total: 2,
    });
  });

  it('lists what was missed, and says which line is no question and which tool nobody has', async () => {
    const { code, out, err } = await evaluated([
      BELL,
      '{"query":"moor"}',
      '{"query":"zebra","relevant":["feed_zebra"]}',
    ]);
    expect(code).toBe(1);
    expect(out).toMatch(/zebra +feed_zebra +nothing/);
    // Nobody asked for meaning, so its absence is no news.
    expect(err).not.toContain('ranked by words');
    expect(err).toContain('questions.jsonl:2: `relevant` must list the names of the right tools');
    expect(err).toContain('no upstream has these tools, which questions name as right: feed_zebra');
  });

  it('needs a file it can read', async () => {
    const { code, err } = await evaluated([], ['--questions', '/nowhere/questions.jsonl']);
    expect(code).toBe(2);
    expect(err).toContain('/nowhere/questions.jsonl cannot be read');
  });
});
