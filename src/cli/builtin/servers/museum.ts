import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const MUSEUM: SampleServer = {
  name: 'museum',
  description: 'collection, exhibitions and visitors of the museum',
  instructions:
    'Objects are known by their inventory number. Nothing leaves a room without a movement being recorded.',
  words: {
    object: ['ship’s compass', 'embroidered shawl', 'whalebone chess set', 'tide gauge of 1871'],
    room: ['gallery 1', 'gallery 4', 'store B', 'conservation studio'],
    status: ['on show', 'in store', 'on loan', 'under treatment'],
    artist: ['unknown hand', 'Signe Aldous', 'E. Torvald'],
    condition: ['good', 'fair', 'fragile', 'treated'],
    exhibition: ['Wood and Water', 'Letters Home', 'Nets'],
  },
  tools: [
    reads(
      'search_collection',
      'Finds objects in the collection by what they are, who made them, material or period.',
      {
        query: 'What to look for',
        'material?': 'Such as oak, brass or linen',
        'from_year? 1..2100': 'Made in or after',
        'to_year? 1..2100': 'Made in or before',
      },
      'objects[] inventory_id, object, made_year, room',
    ),
    reads(
      'get_object',
      'The full record of an object: maker, date, measurements, how it came to the museum.',
      { inventory_id: 'Inventory number' },
      'inventory_id, object, artist, made_year, height_cm',
    ),
    writes(
      'catalogue_object',
      'Enters a new acquisition into the inventory.',
      {
        object: 'What it is',
        'made_year? 1..2100': 'When it was made',
        source: 'Gift, purchase or find, and from whom',
      },
      'inventory_id, entered_on',
    ),
    writes(
      'edit_object_record',
      'Corrects the description, date or maker of an object.',
      { inventory_id: 'Inventory number', field: 'Which part of the record', value: 'What it should say' },
      'inventory_id, changed_at',
    ),
    writes(
      'move_object',
      'Records that an object was carried to another room or shelf.',
      { inventory_id: 'Inventory number', room: 'Where it is now', 'carried_by?': 'Who moved it' },
      'movement_id, room, moved_at',
    ),
    reads(
      'locate_object',
      'Where an object is at the moment.',
      { inventory_id: 'Inventory number' },
      'inventory_id, room, status, since_on',
    ),
    reads(
      'provenance_of',
      'The chain of owners of an object, and what is not known about it.',
      { inventory_id: 'Inventory number' },
      'owners[] owner, from_year, evidence',
    ),
    writes(
      'record_condition',
      'Notes cracks, rust, moth or fading found when an object was checked.',
      {
        inventory_id: 'Inventory number',
        'condition good|fair|fragile|poor': 'Overall',
        notes: 'What was seen',
      },
      'report_id, condition, next_check_on',
    ),
    reads(
      'condition_history',
      'Earlier condition reports of an object.',
      { inventory_id: 'Inventory number' },
      'reports[] report_id, condition, checked_on',
    ),
    writes(
      'request_conservation',
      'Asks the restorers to clean, stabilise or repair an object.',
      {
        inventory_id: 'Inventory number',
        wish: 'What should be done',
        'urgent? yesno': 'Whether it gets worse every day',
      },
      'treatment_id, planned_on',
    ),
    reads(
      'climate_readings',
      'Temperature and humidity measured in a room or showcase.',
      { room: 'The room', 'hours? 1..720': 'How far back' },
      'readings[] measured_at, temperature_c, humidity_percent',
    ),
    writes(
      'set_climate_target',
      'Changes the humidity and temperature a room is kept at.',
      { room: 'The room', 'humidity 30..65': 'Percent', 'temperature? number': 'Degrees Celsius' },
      'room, humidity_percent, reached_at',
    ),
    reads(
      'list_exhibitions',
      'Exhibitions that are open or coming, with dates and rooms.',
      { 'on? date': 'Open on this day' },
      'exhibitions[] exhibition, opens_on, closes_on, room',
    ),
    writes(
      'plan_exhibition',
      'Starts the plan of a new show.',
      {
        exhibition: 'Working title',
        'opens date': 'First day',
        'closes date': 'Last day',
        'curator?': 'Who is in charge',
      },
      'exhibition_id, opens_on',
    ),
    writes(
      'add_to_exhibition',
      'Puts an object on the list of a show.',
      { exhibition: 'The show', inventory_id: 'The object', 'showcase?': 'Where it will stand' },
      'exhibition, inventory_id, object_count',
    ),
    writes(
      'write_wall_label',
      'Saves the text visitors read beside an object.',
      {
        inventory_id: 'The object',
        text: 'At most 60 words',
        'language? en|de|lt|fr': 'Language of the text',
      },
      'label_id, word_count',
    ),
    writes(
      'lend_object',
      'Prepares the loan of an object to another museum, with insurance.',
      {
        inventory_id: 'The object',
        borrower: 'The other museum',
        'from date': 'Leaves on',
        'until date': 'Comes back on',
      },
      'loan_id, insured_eur, status',
    ),
    reads(
      'list_object_loans',
      'Objects lent out or borrowed in, and when they return.',
      { 'direction? out|in': 'Only one way' },
      'loans[] loan_id, object, returns_on, status',
    ),
    writes(
      'sell_admission',
      'Sells tickets at the door.',
      {
        'adults 0..60': 'Full price',
        'reduced? 0..60': 'Students, pensioners, children',
        'guide? yesno': 'With an audio guide',
      },
      'sale_id, ticket_count, total_eur',
    ),
    reads(
      'visitor_numbers',
      'How many people came, by day or by hour.',
      { 'from date': 'First day', 'to date': 'Last day', 'by? hour|day|week': 'How to group' },
      'counts[] period, visitor_count',
    ),
    writes(
      'book_guided_tour',
      'Reserves a guide for a group or a school class.',
      {
        'day date': 'When',
        'at time': 'Start',
        'people 1..30': 'Size of the group',
        'language? en|de|lt|fr': 'Language of the tour',
      },
      'tour_id, guide, price_eur',
    ),
    reads(
      'guides_on_duty',
      'Which guides work on a day, and in which languages.',
      { 'day date': 'The day' },
      'guides[] guide, language, free_from_time',
    ),
    writes(
      'order_photograph',
      'Asks for a picture of an object in print quality.',
      { inventory_id: 'The object', purpose: 'Book, article or private use' },
      'order_id, price_eur, ready_on',
    ),
    reads(
      'opening_times',
      'When the museum is open, and the free evening of the month.',
      { 'day? date': 'Today when left out' },
      'opens_time, closes_time, is_free',
    ),
  ],
};
