import { expect, test } from 'vitest';
import type { IndexedTool } from './tool-index.ts';
import { toolText } from './tool-text.ts';

function text(more: Partial<IndexedTool>): ReturnType<typeof toolText> {
  return toolText({
    exposedName: 't',
    name: 't',
    upstream: 'main',
    description: '',
    inputSchema: {},
    digest: 'd',
    ...more,
  });
}

test('divides a description after its first sentence', () => {
  expect(text({ description: 'Reads a file. Fails if it is a folder.' })).toMatchObject({
    lead: ['Reads a file.'],
    rest: [' Fails if it is a folder.'],
  });
  expect(text({ description: 'Takes a text, e.g. a letter. More.' }).lead).toEqual([
    'Takes a text, e.g. a letter.',
  ]);
  expect(text({ description: '读取文件。然后返回内容' }).lead).toEqual(['读取文件。然后返回内容']);
  expect(text({ description: 'Usage:\nReads a file\nand more' }).lead).toEqual(['Usage:\nReads a file\n']);
});

test('reads what stands before the last __ of an own name as the server', () => {
  expect(text({ name: 'osm__geocode_address' })).toMatchObject({
    name: ['geocode_address'],
    server: ['main', 'osm'],
  });
  expect(text({ name: 'plain_name' })).toMatchObject({ name: ['plain_name'], server: ['main'] });
  expect(text({ name: '__init__' })).toMatchObject({ name: ['__init__'] });
});

test('reads parameters wherever a schema puts them', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      filter: {
        type: 'object',
        properties: { state: { enum: ['open', 'closed', 3], description: 'Which state' } },
      },
      tags: { type: 'array', items: { anyOf: [{ properties: { color: {} } }] } },
    },
    $defs: { Person: { properties: { email: { description: 'Where to write' } } } },
  };
  expect(text({ inputSchema })).toMatchObject({
    parameter: ['filter', 'state', 'tags', 'color', 'email'],
    parameterText: ['Which state', 'Where to write'],
    choice: ['open', 'closed'],
  });
});

test('bounds what it reads of a hostile definition, and takes schemas of any shape', () => {
  const long = 'word '.repeat(1_000_000);
  const properties = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { description: long }]),
  );
  let deep: Record<string, unknown> = { properties: { deepest: {} } };
  for (let i = 0; i < 1_000; i++) deep = { properties: { level: deep } };
  const choices = { enum: Array.from({ length: 100 }, () => long) };
  expect(text({ name: long, title: long, upstream: long }).name[0]).toHaveLength(300);
  expect(text({ inputSchema: choices }).choice.join('').length).toBeLessThan(15_000);
  const read = text({ description: long, inputSchema: { properties, allOf: [deep] } });
  expect(read.lead.join('').length + read.rest.join('').length).toBeLessThan(10_000);
  expect(read.parameterText.join('').length).toBeLessThan(15_000);
  expect(read.parameter.length).toBeLessThanOrEqual(400);
  for (const odd of [{ properties: null }, { properties: [1] }, { enum: 'x', anyOf: {} }, { items: 7 }]) {
    expect(text({ inputSchema: odd }).parameter.length).toBeLessThanOrEqual(1);
  }
});
