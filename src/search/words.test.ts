import { expect, test } from 'vitest';
import { scanWords } from './words.ts';

function words(text: string): readonly string[] {
  const found: string[] = [];
  scanWords(text, (word, _, isWhole) => found.push(isWhole ? `=${word}` : word));
  return found;
}

test('splits identifiers at separators and case changes', () => {
  expect(words('list_files')).toEqual(['list', 'files']);
  expect(words('createIssueComment')).toEqual(['create', 'issue', 'comment']);
  expect(words('HTTPServer parseURL2Text v1Api')).toEqual([
    'http',
    'server',
    '=httpserver',
    'parse',
    'url2',
    'text',
    'v1',
    'api',
  ]);
  expect(words('osm-mcp__geocode.address/v2')).toEqual(['osm', 'mcp', 'geocode', 'address', 'v2']);
});

test('keeps together what people write as one word', () => {
  expect(words('iPhone eBay 2FA base64 sha256 URLs IDs')).toEqual([
    'iphone',
    'ebay',
    '2fa',
    'base64',
    'sha256',
    'urls',
    'ids',
  ]);
});

test('gives a brand in two humps whole as well', () => {
  expect(words('GitHub')).toEqual(['git', 'hub', '=github']);
});

test('drops an English possessive and splits at other apostrophes', () => {
  expect(words("the user's file")).toEqual(['the', 'user', 'file']);
  expect(words('the user’s file')).toEqual(['the', 'user', 'file']);
  expect(words("l'adresse don't")).toEqual(['l', 'adresse', 'don', 't']);
});

test('finds words of every script', () => {
  expect(words('nuotraukų Größe naïve')).toEqual(['nuotraukų', 'größe', 'naïve']);
  expect(words('найтиФайл Ελλάδα')).toEqual(['найти', 'файл', 'ελλάδα']);
  expect(words('ＡＢＣ　１２３')).toEqual(['abc', '123']);
  expect(words('搜索files文件')).toEqual(['搜索', 'files', '文件']);
  expect(words('ค้นหาไฟล์ report')).toEqual(['ค้นหาไฟล์', 'report']);
});

test('takes any text without failing', () => {
  expect(words('')).toEqual([]);
  expect(words('… — “”　\u0000\ud800 🎉')).toEqual([]);
  expect(words('a'.repeat(10_000))[0]).toHaveLength(40);
});
