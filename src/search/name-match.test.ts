import { expect, test } from 'vitest';
import { createDocumentPool, type IndexedTool } from './index.ts';

function tool(upstream: string, slug: string, name: string): IndexedTool {
  const description = 'Does something with issues, files and pages.';
  return { upstream, name, exposedName: `${slug}__${name}`, description, inputSchema: {}, digest: name };
}

const tools = [
  tool('GitHub', 'github', 'create_issue'),
  tool('Git Lab', 'git-lab', 'create_issue'),
  tool('GitHub', 'github', 'issue_read'),
  tool('bench', 'bench', 'osm-mcp-server__geocode_address'),
  tool('bench', 'bench', 'files__read_text_file'),
  tool('bench', 'bench', 'fetch'),
  tool('K8s', 'k8s', 'listCoreV1NamespacedPod'),
];
const index = createDocumentPool().openView(tools);

function first(question: string, count = 1): readonly string[] {
  return index.search(question, { limit: count }).matches.map(({ position }) => tools[position]!.exposedName);
}

test.each([
  ['github__create_issue', 'github__create_issue'],
  ['GitHub:create_issue', 'github__create_issue'],
  ['github create issue', 'github__create_issue'],
  ['Git Lab: create_issue', 'git-lab__create_issue'],
  ['git-lab/create-issue', 'git-lab__create_issue'],
  ['bench__osm-mcp-server__geocode_address', 'bench__osm-mcp-server__geocode_address'],
  ['osm-mcp-server__geocode_address', 'bench__osm-mcp-server__geocode_address'],
  ['geocode_address', 'bench__osm-mcp-server__geocode_address'],
  ['bench:geocode_address', 'bench__osm-mcp-server__geocode_address'],
  ['geocodeAddress', 'bench__osm-mcp-server__geocode_address'],
  ['text_file', 'bench__files__read_text_file'],
  ['fetch', 'bench__fetch'],
  ['`fetch`', 'bench__fetch'],
  ['listCoreV1NamespacedPod', 'k8s__listCoreV1NamespacedPod'],
  ['namespaced_pod', 'k8s__listCoreV1NamespacedPod'],
  ['use issue_read for the issues and pages of the files', 'github__issue_read'],
])('%s names %s', (question, name) => {
  expect(first(question)).toEqual([name]);
});

test('puts several named tools in the order they are named', () => {
  expect(first('geocode_address, issue_read and read_text_file', 3)).toEqual([
    'bench__osm-mcp-server__geocode_address',
    'github__issue_read',
    'bench__files__read_text_file',
  ]);
});

test('puts both tools of one name before all others', () => {
  expect(first('create_issue', 2).toSorted()).toEqual(['git-lab__create_issue', 'github__create_issue']);
});
