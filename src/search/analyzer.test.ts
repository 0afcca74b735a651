import { expect, test } from 'vitest';
import { termsOf } from './analyzer.ts';
import { languageOf, usersOf } from './language.ts';
import type { LatinLanguage } from './function-words.ts';
import { scanWords } from './words.ts';

function terms(text: string, language: LatinLanguage = 'english'): readonly string[] {
  const found: string[] = [];
  scanWords(text, (word, script) => found.push(...termsOf(word, script, language)));
  return found;
}

test('brings inflections of a Lithuanian noun to one term, with or without diacritics', () => {
  const forms = ['nuotrauka', 'nuotraukos', 'nuotrauką', 'nuotraukomis', 'nuotraukų'];
  expect(new Set(forms.flatMap((form) => terms(form, 'lithuanian')))).toEqual(new Set(['nuotrauk']));
  expect(
    new Set(['sąskaita', 'sąskaitą', 'sąskaitų', 'saskaita'].flatMap((form) => terms(form, 'lithuanian'))),
  ).toEqual(new Set(['saskait']));
});

test('stems by language and script, then folds diacritics and letter variants', () => {
  expect(terms('Dateien Größen', 'german')).toEqual(terms('Datei groessen'.replace('oe', 'o'), 'german'));
  expect(terms('naïve')).toEqual(terms('naive'));
  expect(terms('Łódź Ærø')).toEqual(['lodz', 'aero']);
  expect(terms('погоды')).toEqual(terms('погода'));
  expect(terms('ёлка')).toEqual(terms('елка'));
});

test('divides Chinese, Japanese and Korean text into characters and pairs', () => {
  expect(terms('搜索文件')).toEqual(['搜', '搜索', '索', '索文', '文', '文件', '件']);
});

test('divides Thai text into words', () => {
  expect(terms('ค้นหาไฟล์')).toEqual(['ค้นหา', 'ไฟล์']);
});

test('recognises the language of a text by its function words, and takes English when in doubt', () => {
  const language = (text: string): LatinLanguage => {
    const users: number[] = [];
    scanWords(text, (word) => users.push(usersOf(word)));
    return languageOf(users);
  };
  expect(language('Returns the list of files in a folder')).toBe('english');
  expect(language('Sukuria naują įrašą ir grąžina jo numerį, kai visi laukai yra užpildyti')).toBe(
    'lithuanian',
  );
  expect(language('Erstellt eine neue Rechnung und sendet sie an den Kunden')).toBe('german');
  expect(language('Crée une facture et l’envoie par courriel au client')).toBe('french');
  expect(language('Crea una factura para el cliente y la envía por correo')).toBe('spanish');
  expect(language('weather')).toBe('english');
  expect(language('')).toBe('english');
});
