import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCatalog } from './catalog.ts';
import type { CatalogPart } from './catalog.ts';
import { slugsOf } from './exposed-name.ts';
import { clearTypoOf, similarNames } from './near-name.ts';
import { matchesPattern } from './pattern.ts';
import type { Tool } from './tool.ts';

function tool(name: string, readOnlyHint?: boolean): Tool {
  const annotations = readOnlyHint === undefined ? {} : { readOnlyHint };
  return { name, description: '', inputSchema: { type: 'object' }, annotations, digest: name };
}

function part(upstream: string, tools: readonly Tool[], trusted = true): CatalogPart {
  return { upstream, slug: slugsOf([upstream]).get(upstream) ?? '', trusted, tools };
}

const RULES = { prefixed: true, writeTools: [], reservedNames: new Set(['search_tools']) };

describe('catalog', () => {
  it('keeps own names with one upstream, and prefixes a reserved one', () => {
    const catalog = buildCatalog([part('notes', [tool('add'), tool('search_tools')])], {
      ...RULES,
      prefixed: false,
    });
    expect(catalog.tools.map((t) => t.exposedName)).toEqual(['add', 'notes__search_tools']);
  });

  it('prefixes with several upstreams, and still resolves an own name that only one has', () => {
    const catalog = buildCatalog([part('a', [tool('list'), tool('add')]), part('b', [tool('list')])], RULES);
    expect(catalog.tools.map((t) => t.exposedName)).toEqual(['a__add', 'a__list', 'b__list']);
    expect(catalog.find('add')?.exposedName).toBe('a__add');
    expect(catalog.find('list')).toBeUndefined();
    expect(catalog.find('b__list')?.upstream).toBe('b');
  });

  it('finds no tool under the names of object prototypes', () => {
    const catalog = buildCatalog([part('a', [tool('__proto__'), tool('constructor')])], RULES);
    expect(catalog.find('toString')).toBeUndefined();
    expect(catalog.find('a____proto__')?.tool.name).toBe('__proto__');
    expect(catalog.find('constructor')?.exposedName).toBe('a__constructor');
  });

  it('counts a tool as a read only when trusted, marked, and not listed as a write', () => {
    const tools = [tool('get', true), tool('get_secret', true), tool('unmarked'), tool('set', false)];
    const accesses = (trusted: boolean, writeTools: readonly string[]): unknown =>
      buildCatalog([part('a', tools, trusted)], { ...RULES, writeTools }).tools.map((t) => t.access);
    expect(accesses(true, [])).toEqual(['read', 'read', 'write', 'write']);
    expect(accesses(true, ['get_*'])).toEqual(['read', 'write', 'write', 'write']);
    expect(accesses(true, ['a__get'])).toEqual(['write', 'read', 'write', 'write']);
    expect(accesses(false, [])).toEqual(['write', 'write', 'write', 'write']);
  });
});

describe('slugs', () => {
  it('are short, plain, unique and free of double underscores for any names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 50 })), (names) => {
        const slugs = [...slugsOf(names).values()];
        expect(new Set(slugs.map((s) => s.toLowerCase())).size).toBe(names.length);
        for (const slug of slugs) {
          expect(slug).toMatch(/^[A-Za-z0-9_-]{1,32}$/);
          expect(slug).not.toContain('__');
        }
      }),
    );
  });

  it('keep what the owner wrote where they can', () => {
    expect([
      ...slugsOf(['WeatherInfo', 'my files', 'weatherinfo', 'Žinios', '天気', 'a__b']).values(),
    ]).toEqual(['WeatherInfo', 'my-files', 'weatherinfo-2', 'Zinios', 'upstream', 'a_b']);
  });
});

describe('near names', () => {
  const names = ['create_issue', 'create_issues_bulk', 'close_issue', 'list_users', 'list_user_groups'];
  const { tools } = buildCatalog(
    [
      part(
        'hub',
        names.map((n) => tool(n)),
      ),
    ],
    RULES,
  );

  it('takes a name at most two edits away, and twice as near as the next, for a typo', () => {
    expect(clearTypoOf('create_isue', tools)?.tool.name).toBe('create_issue');
    expect(clearTypoOf('hub__crate_issue', tools)?.tool.name).toBe('create_issue');
    expect(clearTypoOf('LIST_USERS', tools)?.tool.name).toBe('list_users');
    expect(clearTypoOf('remove_everything', tools)).toBeUndefined();
  });

  it('takes no name for a typo that two tools are equally near to', () => {
    const twins = buildCatalog([part('hub', [tool('read_a'), tool('read_b')])], RULES).tools;
    expect(clearTypoOf('read_c', twins)).toBeUndefined();
    expect(similarNames('read_c', twins, 3)).toEqual(['hub__read_a', 'hub__read_b']);
  });

  it('suggests nothing that is not near', () => {
    expect(similarNames('zzz', tools, 3)).toEqual([]);
    expect(similarNames('list_usr', tools, 1)).toEqual(['hub__list_users']);
  });
});

describe('patterns', () => {
  it('know one wildcard', () => {
    expect(matchesPattern('get_*', 'get_user')).toBe(true);
    expect(matchesPattern('*_user*', 'get_user')).toBe(true);
    expect(matchesPattern('get', 'get_user')).toBe(false);
    expect(matchesPattern('a*a', 'a')).toBe(false);
    expect(matchesPattern('*', '')).toBe(true);
    expect(matchesPattern('g.t', 'get')).toBe(false);
  });

  it('agree with a regular expression', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ab*]{0,6}$/), fc.stringMatching(/^[ab]{0,8}$/), (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
        expect(matchesPattern(pattern, name)).toBe(expected);
      }),
    );
  });
});
