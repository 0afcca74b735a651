import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const POOL: SampleServer = {
  name: 'pool',
  description: 'lanes, courses and water of the swimming baths',
  instructions:
    'Lanes are counted from the windows. Water values are checked every two hours while people swim.',
  words: {
    course: ['beginners’ crawl', 'aqua gymnastics', 'baby splash', 'lifesaver bronze'],
    coach: ['Nils', 'Dora', 'Yusuf'],
    basin: ['sports pool', 'teaching pool', 'warm pool'],
    status: ['open', 'closed', 'full', 'booked'],
    swimmer: ['Club Delfin', 'class 4b', 'M. Ortel'],
    machine: ['filter pump 2', 'chlorine doser', 'heat exchanger'],
  },
  tools: [
    reads(
      'lane_availability',
      'Which lanes are free for lengths at a time.',
      { 'day date': 'When', 'from time': 'Start', 'to? time': 'End' },
      'lanes[] lane_number, basin, is_free',
    ),
    writes(
      'reserve_lane',
      'Reserves a lane for a club or a class.',
      {
        swimmer: 'For whom',
        'lane 1..8': 'Which lane',
        'day date': 'When',
        'from time': 'Start',
        'minutes 15..180': 'How long',
      },
      'booking_id, lane_number, price_eur',
    ),
    writes(
      'release_lane',
      'Gives a reserved lane back to the public.',
      { booking_id: 'The booking' },
      'booking_id, status',
    ),
    reads(
      'swimming_hours',
      'When the baths are open for everybody, for early swimmers, for families.',
      { 'day? date': 'Today when left out' },
      'times[] basin, opens_time, closes_time',
    ),
    reads('people_in_water', 'How full the baths are now.', {}, 'swimmers_count, most_count, full_percent'),
    writes(
      'sell_entry',
      'Sells a ticket at the till.',
      { 'adults 0..50': 'Full price', 'children? 0..50': 'Under 16', 'sauna? yesno': 'With the sauna' },
      'sale_id, total_eur',
    ),
    writes(
      'top_up_card',
      'Puts money on a swimmer’s card.',
      { card_number: 'Number on the card', 'euros 5..500': 'How much' },
      'card_number, balance_eur',
    ),
    reads(
      'card_balance',
      'What is left on a swimmer’s card, and the last visits.',
      { card_number: 'Number on the card' },
      'card_number, balance_eur, last_visit_on',
    ),
    reads(
      'find_course',
      'Swimming lessons and gymnastics for an age and level.',
      {
        'age? 0..110': 'Age of the swimmer',
        'level? none|some|good': 'What they can do',
        'weekday? mon|tue|wed|thu|fri|sat|sun': 'Only on this day',
      },
      'courses[] course_id, course, starts_on, places_left',
    ),
    writes(
      'enrol_swimmer',
      'Signs somebody up for a swimming course.',
      { course_id: 'The course', name: 'Who', 'born date': 'Date of birth', phone: 'In an emergency' },
      'enrolment_id, price_eur, status',
    ),
    writes(
      'unenrol_swimmer',
      'Takes somebody off a course.',
      { enrolment_id: 'The enrolment', 'reason?': 'Why' },
      'enrolment_id, refund_eur',
    ),
    reads(
      'course_register',
      'Who takes part in a course and who came last time.',
      { course_id: 'The course' },
      'swimmers[] name, attended_count, has_paid',
    ),
    writes(
      'mark_attendance',
      'Ticks who came to a lesson.',
      { course_id: 'The course', 'present list': 'Names' },
      'course_id, present_count',
    ),
    writes(
      'award_badge',
      'Notes that somebody swam for a badge.',
      { name: 'Who', 'badge seahorse|bronze|silver|gold|lifesaver': 'Which', 'metres? 25..10000': 'How far' },
      'badge_id, awarded_on',
    ),
    writes(
      'record_lap_times',
      'Saves times of a training or a gala.',
      { swimmer: 'Who', 'distance 25..10000': 'Metres', 'seconds number': 'Time' },
      'time_id, is_personal_best',
    ),
    reads(
      'best_times',
      'Personal bests of a swimmer.',
      { swimmer: 'Who' },
      'times[] distance_m, time_seconds_number, swum_on',
    ),
    reads(
      'water_quality',
      'Chlorine, acidity, temperature and clarity of the water.',
      { basin: 'Which pool', 'hours? 1..168': 'How far back' },
      'readings[] measured_at, chlorine_number, acidity_ph, temperature_c',
    ),
    writes(
      'record_water_test',
      'Enters a test of the water done by hand.',
      { basin: 'Which pool', 'chlorine number': 'Milligrams a litre', 'acidity number': 'pH' },
      'test_id, is_within_limits',
    ),
    writes(
      'dose_chemicals',
      'Adds chlorine or acid to a basin.',
      { basin: 'Which pool', 'what chlorine|acid|flocculant': 'Which', 'grams 1..20000': 'How much' },
      'dose_id, swim_again_at',
    ),
    writes(
      'set_water_temperature',
      'Changes how warm a pool is kept.',
      { basin: 'Which pool', 'celsius number': 'Degrees' },
      'basin, temperature_c, reached_at',
    ),
    writes(
      'close_basin',
      'Shuts a pool, such as for broken glass or cleaning.',
      { basin: 'Which pool', reason: 'Why', 'until? time': 'When it opens again' },
      'basin, status, people_told_count',
    ),
    reads(
      'lifeguard_rota',
      'Who watches the water when.',
      { 'day date': 'When' },
      'shifts[] lifeguard, from_time, to_time',
    ),
    writes(
      'report_accident',
      'Files what happened, who helped and how.',
      { what: 'What happened', 'injured? yesno': 'Whether somebody was hurt', basin: 'Where' },
      'report_id, filed_at',
    ),
    reads(
      'machine_faults',
      'Pumps, filters and heaters that report a fault.',
      {},
      'faults[] machine, fault, since_at',
    ),
  ],
};
