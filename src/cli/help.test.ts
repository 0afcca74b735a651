import { describe, expect, it } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import { flagOf, placesOf, SETTING_NAMES, settingOf, variableOf } from '../config/settings.ts';
import { readSettingText } from '../config/setting-value.ts';
import { CLI_FLAGS, parseCommandLine } from './command-line.ts';
import { COMMANDS } from './command.ts';
import { defaultText, helpText } from './help.ts';

const help = helpText(undefined, 100, '/home/ann/.config/mcpproxy/config.json');
const flat = help.replaceAll(/\s+/g, ' ');

describe('the help', () => {
  it('lists every setting with its sentence and default', () => {
    for (const name of SETTING_NAMES) {
      expect(help).toContain(`  ${flagOf(name)}`);
      expect(flat).toContain(settingOf(name).sentence);
      expect(flat).toContain(`(${defaultText(name)})`);
    }
  });

  it('lists every command and exit code, and says how variables are called', () => {
    for (const { usage, sentence } of Object.values(COMMANDS)) {
      expect(flat).toContain(usage);
      expect(flat).toContain(sentence);
    }
    for (const code of ['0', '1', '2', '78', '130', '143'])
      expect(help).toMatch(new RegExp(`^  ${code} +\\w`, 'm'));
    expect(flat).toContain(`${flagOf('maxBatchCalls')} is ${variableOf('maxBatchCalls')}`);
  });

  it('keeps within the width', () => {
    expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it("shows a command's own flags", () => {
    expect(helpText('search-tools', 100, '')).toContain('--limit N');
  });
});

describe('the settings table', () => {
  it('is exactly this', () => {
    expect(
      SETTING_NAMES.filter((name) => !(name in LIMITS)).map((name) => [flagOf(name), variableOf(name)]),
    ).toEqual([
      ['--listen', 'MCPPROXY_LISTEN'],
      ['--stdio', 'MCPPROXY_STDIO'],
      ['--config', 'MCPPROXY_CONFIG'],
      ['--upstream', 'MCPPROXY_UPSTREAM'],
      ['--write-tools', 'MCPPROXY_WRITE_TOOLS'],
      ['--max-batch-calls', 'MCPPROXY_MAX_BATCH_CALLS'],
      ['--max-instructions', 'MCPPROXY_MAX_INSTRUCTIONS'],
      ['--search-schemas', 'MCPPROXY_SEARCH_SCHEMAS'],
      ['--embedder', 'MCPPROXY_EMBEDDER'],
      ['--model-dir', 'MCPPROXY_MODEL_DIR'],
      ['--require-model', 'MCPPROXY_REQUIRE_MODEL'],
      ['--allowed-hosts', 'MCPPROXY_ALLOWED_HOSTS'],
      ['--allowed-origins', 'MCPPROXY_ALLOWED_ORIGINS'],
      ['--insecure-upstream', 'MCPPROXY_INSECURE_UPSTREAM'],
      ['--allow-unauthenticated', 'MCPPROXY_ALLOW_UNAUTHENTICATED'],
      ['--discovery', 'MCPPROXY_DISCOVERY'],
      ['--agent-adds', 'MCPPROXY_AGENT_ADDS'],
      ['--registry-search', 'MCPPROXY_REGISTRY_SEARCH'],
      ['--check-server-repo', 'MCPPROXY_CHECK_SERVER_REPO'],
      ['--log-level', 'MCPPROXY_LOG_LEVEL'],
      ['--log-format', 'MCPPROXY_LOG_FORMAT'],
      ['--log-callers', 'MCPPROXY_LOG_CALLERS'],
      ['--audit-log', 'MCPPROXY_AUDIT_LOG'],
      ['--metrics-listen', 'MCPPROXY_METRICS_LISTEN'],
    ]);
  });

  it('has a row for every limit, with its default', () => {
    for (const [name, limit] of Object.entries(LIMITS)) {
      expect(SETTING_NAMES).toContain(name);
      expect(settingOf(name as keyof typeof LIMITS).default).toBe(limit.default);
    }
  });

  it('has examples that are valid and defaults that read as themselves', () => {
    for (const name of SETTING_NAMES) {
      expect(readSettingText(name, settingOf(name).example), name).toHaveProperty('value');
      const value = settingOf(name).default;
      if (typeof value === 'number') expect(readSettingText(name, String(value))).toEqual({ value });
    }
  });
});

describe('the command line', () => {
  it('takes long flags with one dash or two, anywhere', async () => {
    const printed =
      '-upstream https://gateway.example.com/mcp/all -model-dir ./model -embedder none -max-instructions 5 -search-schemas 2 -write-tools a,b* -max-batch-calls 0';
    const one = await parseCommandLine(printed.split(' '));
    const two = await parseCommandLine(printed.replaceAll(/(^| )-/g, '$1--').split(' '));
    expect(one.mistakes).toEqual([]);
    expect(one).toEqual(two);
    expect(one.settings).toHaveLength(7);
    const around = await parseCommandLine([
      '-o',
      'json',
      'search-tools',
      '-config',
      'f.json',
      'read',
      'a',
      '--limit=3',
      'file',
      '-q',
    ]);
    expect(around).toMatchObject({
      command: 'search-tools',
      operands: ['read', 'a', 'file'],
      settings: [{ name: 'config', text: 'f.json' }],
      mistakes: [],
    });
    expect(Object.fromEntries(around.flags)).toEqual({ output: 'json', limit: '3', quiet: 'true' });
  });

  it('leaves what follows -- alone, and a lone dash', async () => {
    const { operands, mistakes } = await parseCommandLine(['search-tools', '--', '-upstream', '--x']);
    expect(mistakes).toEqual([]);
    expect(operands).toEqual(['-upstream', '--x']);
    expect((await parseCommandLine(['call-tool', 'name', '-'])).operands).toEqual(['name', '-']);
  });

  it('has a flag for every setting that may be one, and no flag twice', () => {
    const flags = SETTING_NAMES.filter((name) => placesOf(name).includes('flag')).map((name) =>
      flagOf(name).slice(2),
    );
    const all = [...flags, ...Object.keys(CLI_FLAGS)];
    expect(new Set(all).size).toBe(all.length);
  });
});
