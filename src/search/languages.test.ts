import { expect, test } from 'vitest';
import { createDocumentPool, type IndexedTool } from './index.ts';

/** Tools whose own texts are not English: each question must find its tool among tools of all the others. */
const CATALOG: readonly (readonly [name: string, description: string, questions: readonly string[]])[] = [
  [
    'kurti_saskaita',
    'Sukuria naują sąskaitą klientui ir grąžina jos numerį. Laukai turi būti užpildyti.',
    ['sąskaitos kūrimas klientams', 'nauju saskaitu', 'sąskaitą'],
  ],
  [
    'orai',
    'Pateikia orų prognozę pasirinktam miestui kelioms dienoms į priekį.',
    ['kokia prognozė miestuose', 'orų prognozės', 'prognoze miestui'],
  ],
  [
    'datei_suchen',
    'Durchsucht die Dateien eines Ordners und gibt die gefundenen Namen zurück.',
    ['Datei in Ordnern finden', 'dateien ordner'],
  ],
  [
    'rechnung_senden',
    'Verschickt eine Rechnung per E-Mail an den Kunden und vermerkt das im Buchungsjournal.',
    ['Rechnungen an Kunden verschicken', 'rechnung'],
  ],
  [
    'envoyer_courriel',
    'Envoie un courriel à un ou plusieurs destinataires avec des pièces jointes.',
    ['envoyer des courriels', 'pièce jointe'],
  ],
  [
    'clima',
    'Devuelve el pronóstico del tiempo para una ciudad en los próximos días.',
    ['pronosticos de las ciudades', 'tiempo en la ciudad'],
  ],
  ['найти_файл', 'Ищет файлы в папке по имени и возвращает список.', ['поиск файла в папках', 'файлы']],
  [
    'погода',
    'Показывает прогноз погоды для города на несколько дней.',
    ['прогнозы погоды', 'какая погода в городе'],
  ],
  ['search_web_zh', '使用搜索引擎查找网页并返回标题和摘要', ['搜索网页', '查找网页标题']],
  ['create_event_zh', '在日历中创建新的日程并邀请参与者', ['创建日程', '邀请参与者']],
  ['lookup_ja', '辞書で単語の意味を調べます', ['単語の意味', '辞書']],
  ['weather_ko', '도시의 날씨 예보를 알려줍니다', ['날씨 예보', '도시 날씨는']],
  ['find_file_th', 'ค้นหาไฟล์ในโฟลเดอร์ตามชื่อ', ['ค้นหาไฟล์', 'ไฟล์ในโฟลเดอร์']],
  ['search_ar', 'يبحث عن الملفات في المجلد ويعيد الأسماء', ['البحث عن ملفات', 'المجلد']],
  ['find_el', 'Αναζητά αρχεία σε έναν φάκελο', ['αρχεία φάκελο', 'αρχεια']],
  ['read_file', 'Returns the text of one file.', ['read the files']],
  ['weather', 'Forecast of the weather in a city.', ['weather forecast for cities']],
  ['create_invoice', 'Creates an invoice for a customer.', ['creating invoices']],
];

const tools: readonly IndexedTool[] = CATALOG.map(([name, description]) => ({
  name,
  exposedName: name,
  upstream: 'main',
  description,
  inputSchema: {},
  digest: name,
}));

const index = createDocumentPool().openView(tools);

for (const [name, , questions] of CATALOG) {
  for (const question of questions) {
    test(`finds ${name} by "${question}"`, () => {
      const first = index.search(question, { limit: 1 }).matches[0];
      expect(first === undefined ? undefined : tools[first.position]!.name).toBe(name);
    });
  }
}
