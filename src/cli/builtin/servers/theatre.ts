import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const THEATRE: SampleServer = {
  name: 'theatre',
  description: 'shows, seats, rehearsals and the stage of the playhouse',
  instructions:
    'A production is a play; a performance is one evening of it. Seats are named by row and number.',
  words: {
    production: ['The Lamp Keeper', 'Winter Nets', 'Two Doors', 'The Miller’s Clock'],
    performer: ['Rhea Stone', 'Otto Lind', 'Mina Dahl'],
    role: ['the lamp keeper', 'the widow', 'the stranger', 'chorus'],
    status: ['on sale', 'sold out', 'cancelled', 'in rehearsal'],
    seat: ['C7', 'F12', 'balcony B3'],
    prop: ['storm lantern', 'letter with seal', 'rocking chair'],
  },
  tools: [
    reads(
      'whats_on',
      'Which plays are given between two days, with times and whether tickets are left.',
      { 'from date': 'First day', 'to? date': 'Last day' },
      'performances[] performance_id, production, starts_at, seats_left',
    ),
    reads(
      'get_production',
      'A play with author, director, cast, length and age advice.',
      { production: 'Name of the play' },
      'production, director, length_minutes, performance_count',
    ),
    reads(
      'seat_map',
      'Free and taken seats of an evening, with prices.',
      { performance_id: 'The evening' },
      'seats[] seat, price_eur, is_free',
    ),
    writes(
      'hold_seats',
      'Keeps seats for ten minutes while a customer decides.',
      { performance_id: 'The evening', 'seats list': 'Such as C7, C8' },
      'hold_id, expires_at, total_eur',
    ),
    writes(
      'sell_seats',
      'Sells seats and gives out tickets.',
      {
        performance_id: 'The evening',
        'seats list': 'Such as C7, C8',
        'reduction? none|student|senior|member': 'Reduced price',
      },
      'order_id, ticket_count, total_eur',
    ),
    writes(
      'exchange_tickets',
      'Swaps tickets for another evening of the same play.',
      { order_id: 'The order', performance_id: 'The new evening' },
      'order_id, seat, difference_eur',
    ),
    writes(
      'refund_order',
      'Takes tickets back and returns the money.',
      { order_id: 'The order', 'reason?': 'Why' },
      'order_id, refund_eur, status',
    ),
    reads(
      'find_order',
      'Finds a ticket order by name, email or last digits of the card.',
      { query: 'Name, email or digits' },
      'orders[] order_id, production, seat, total_eur',
    ),
    writes(
      'join_waiting_list',
      'Notes somebody who wants tickets for a sold-out evening.',
      { performance_id: 'The evening', email: 'Where to write', 'seats 1..8': 'How many' },
      'entry_id, place_in_line',
    ),
    writes(
      'cancel_performance',
      'Calls an evening off and writes to everybody who has tickets.',
      { performance_id: 'The evening', reason: 'What the audience is told' },
      'performance_id, status, people_told_count',
    ),
    reads(
      'rehearsal_schedule',
      'Rehearsals of a production: scene, room, who is called.',
      { production: 'The play', 'week? date': 'Any day of the week wanted' },
      'rehearsals[] rehearsal_id, scene, room, starts_at',
    ),
    writes(
      'call_rehearsal',
      'Sets a rehearsal and tells the people called.',
      {
        production: 'The play',
        scene: 'What is rehearsed',
        'starts date': 'Day',
        'at time': 'Time',
        'people list': 'Who has to come',
      },
      'rehearsal_id, room, people_told_count',
    ),
    writes(
      'move_rehearsal',
      'Shifts a rehearsal to another time or room.',
      { rehearsal_id: 'The rehearsal', 'day? date': 'New day', 'at? time': 'New time', 'room?': 'New room' },
      'rehearsal_id, starts_at, room',
    ),
    reads(
      'cast_list',
      'Who plays what, with understudies.',
      { production: 'The play' },
      'cast[] role, performer, understudy',
    ),
    writes(
      'recast_role',
      'Gives a part to another actor.',
      { production: 'The play', role: 'The part', performer: 'Who takes it', 'from? date': 'Since when' },
      'role, performer, status',
    ),
    writes(
      'report_sick',
      'Notes an actor who cannot play tonight and finds the understudy.',
      { performer: 'Who is ill', 'until? date': 'Expected back' },
      'performer, understudy, performance_count',
    ),
    reads(
      'cue_sheet',
      'Light, sound and fly cues of a play in running order.',
      { production: 'The play', 'act? 1..5': 'Only this act' },
      'cues[] cue_id, line, effect, at_minutes',
    ),
    writes(
      'edit_cue',
      'Changes what a lighting or sound cue does.',
      { cue_id: 'The cue', effect: 'What shall happen', 'fade_seconds? number': 'How slowly' },
      'cue_id, effect, version_number',
    ),
    reads(
      'props_list',
      'Things needed on stage, and on which table they wait.',
      { production: 'The play' },
      'props[] prop, scene, table',
    ),
    writes(
      'add_prop',
      'Puts a thing on the list of properties of a play.',
      {
        production: 'The play',
        prop: 'What it is',
        scene: 'Where it is used',
        'dangerous? yesno': 'Blade, flame or glass',
      },
      'prop_id, table',
    ),
    reads(
      'costume_measurements',
      'Measurements of a performer for the wardrobe.',
      { performer: 'Who' },
      'performer, height_cm, chest_cm, shoe_number',
    ),
    writes(
      'order_costume_repair',
      'Sends a dress, coat or boot to the wardrobe for mending.',
      { costume: 'What', problem: 'Torn seam, missing button and so on', 'needed date': 'Has to be back by' },
      'repair_id, ready_on',
    ),
    reads(
      'box_office_report',
      'What was sold and taken on an evening or over a run.',
      { production: 'The play', 'day? date': 'Only this evening' },
      'production, sold_count, taken_eur, full_percent',
    ),
    writes(
      'write_programme_note',
      'Saves the text for the programme leaflet of a play.',
      { production: 'The play', text: 'At most 400 words' },
      'note_id, word_count',
    ),
  ],
};
