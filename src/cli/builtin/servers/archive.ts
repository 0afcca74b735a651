import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const ARCHIVE: SampleServer = {
  name: 'archive',
  description: 'old records, maps and photographs of the town archive',
  instructions:
    'Records are cited by fonds, series and number. Files about living people are closed for 80 years.',
  words: {
    record: ['harbour dues ledger', 'letter to the mayor', 'plan of the fish market', 'register of voters'],
    person: ['Jakob Strand', 'Agnes Miller', 'Elias Thorn'],
    place: ['Rope Lane', 'the old quay', 'Mill Street'],
    status: ['open', 'closed', 'in the reading room', 'being scanned'],
    box: ['box 12', 'box 87', 'map drawer 3'],
    occupation: ['cooper', 'net maker', 'midwife', 'lamplighter'],
  },
  tools: [
    reads(
      'search_records',
      'Searches letters, ledgers, minutes and plans of three centuries.',
      {
        query: 'Words to look for',
        'from_year? 1600..2100': 'Earliest',
        'to_year? 1600..2100': 'Latest',
        'kind? letter|ledger|minutes|plan|photograph|register': 'Only this kind',
      },
      'records[] record_id, record, written_year, box',
    ),
    reads(
      'get_record',
      'The description of a record with its place, size and access.',
      { record_id: 'The record' },
      'record_id, record, written_year, page_count, status',
    ),
    reads(
      'read_transcript',
      'The typed text of a handwritten page.',
      { record_id: 'The record', 'page? 1..2000': 'Which page' },
      'record_id, page_number, text',
    ),
    writes(
      'save_transcript',
      'Stores what somebody has read in an old hand.',
      { record_id: 'The record', 'page 1..2000': 'Which page', text: 'The text' },
      'transcript_id, word_count',
    ),
    writes(
      'correct_transcript',
      'Fixes a word that was misread in a transcription.',
      { transcript_id: 'The transcription', wrong: 'As it stands', right: 'As it should be' },
      'transcript_id, version_number',
    ),
    reads(
      'find_person',
      'Finds people in registers of births, marriages, deaths and voters.',
      { name: 'Name or part of it', 'born_about? 1600..2100': 'Year', 'place?': 'Street or village' },
      'people[] person_id, person, born_year, occupation',
    ),
    reads(
      'family_of',
      'Parents, children and spouses of somebody, with the records that say so.',
      { person_id: 'The person' },
      'relatives[] person, relation, record_id',
    ),
    writes(
      'link_relatives',
      'Records that two people were related, with the evidence.',
      {
        person_id: 'One',
        other_id: 'The other',
        'relation parent|child|spouse|sibling': 'How',
        record_id: 'Where it is written',
      },
      'link_id, status',
    ),
    reads(
      'who_lived_at',
      'Residents of a house or street through the years.',
      { place: 'House or street', 'year? 1600..2100': 'Only this year' },
      'people[] person, from_year, to_year, occupation',
    ),
    reads(
      'old_street_name',
      'What a street was called before, and since when.',
      { street: 'Name today or then' },
      'names[] place, from_year, to_year',
    ),
    reads(
      'maps_of_place',
      'Historical maps and plans that show a place.',
      { place: 'What', 'before? 1600..2100': 'Drawn before' },
      'maps[] record_id, drawn_year, scale_number',
    ),
    reads(
      'photographs_of',
      'Old photographs of a place, a ship or a person.',
      { what: 'What they show', 'decade? 1850..2020': 'First year of the decade' },
      'photographs[] record_id, taken_year, photographer',
    ),
    writes(
      'name_person_in_photo',
      'Says who is to be seen in an old picture.',
      { record_id: 'The photograph', person: 'Who', where: 'Such as second from left' },
      'record_id, person, status',
    ),
    writes(
      'request_record',
      'Orders a box to the reading room.',
      { record_id: 'The record', reader: 'Who', 'day date': 'When' },
      'request_id, ready_at, desk',
    ),
    writes(
      'return_record',
      'Notes that a box has gone back to its shelf.',
      { request_id: 'The order' },
      'request_id, status, box',
    ),
    writes(
      'book_reading_desk',
      'Reserves a desk in the reading room.',
      { reader: 'Who', 'day date': 'When', 'hours? 1..8': 'How long' },
      'booking_id, desk, from_time',
    ),
    writes(
      'order_scan',
      'Has pages digitised.',
      { record_id: 'The record', pages: 'Such as 4-9', 'quality? view|print': 'How fine' },
      'order_id, price_eur, ready_on',
    ),
    reads(
      'scan_progress',
      'How much of a series has been digitised.',
      { series: 'Which series' },
      'series, done_percent, page_count',
    ),
    writes(
      'accept_donation',
      'Records papers that a family or firm has given.',
      { donor: 'Who gave them', what: 'What they are', 'metres? number': 'Length on the shelf' },
      'accession_id, box, received_on',
    ),
    writes(
      'close_file',
      'Closes a file to readers for reasons of privacy.',
      { record_id: 'The record', 'until_year 2024..2150': 'Year it opens', reason: 'Why' },
      'record_id, status, opens_year',
    ),
    reads(
      'closed_files',
      'Files that nobody may read yet, and when they open.',
      { 'opening_before? 2024..2150': 'Year' },
      'files[] record_id, record, opens_year',
    ),
    reads(
      'convert_old_money',
      'What an old sum was worth, in days of work and in euros of today.',
      { sum: 'As written, such as 3 marks 8', 'year 1600..2000': 'When' },
      'value_eur, work_days',
    ),
    reads(
      'convert_old_date',
      'Turns a feast day or a date of the old calendar into today’s.',
      { date_text: 'As written, such as Tuesday after Michaelmas 1684' },
      'date_on, weekday',
    ),
    reads(
      'explain_old_word',
      'Meaning of a word of trade, law or measure that has gone out of use.',
      { word: 'The word', 'year? 1600..2000': 'When it was written' },
      'word, meaning, record_id',
    ),
  ],
};
