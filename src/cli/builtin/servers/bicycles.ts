import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const BICYCLES: SampleServer = {
  name: 'bicycles',
  description: 'repairs, parts and hire of the bicycle workshop',
  instructions: 'Every bicycle in the shop hangs on a numbered hook. Prices are quoted before work begins.',
  words: {
    bicycle: ['blue touring bike', 'folding bike', 'cargo trike', 'child’s bike'],
    part: ['brake cable', 'chain, 9-speed', 'inner tube, 28 inch', 'saddle clamp'],
    status: ['waiting', 'on the stand', 'waiting for a part', 'ready'],
    mechanic: ['Jo', 'Samir', 'Petra'],
    fault: ['brakes drag', 'gears slip', 'wheel out of true', 'loose headset'],
    route: ['the dyke path', 'over the hill road', 'the old railway'],
  },
  tools: [
    writes(
      'book_repair',
      'Takes in a bicycle for repair and gives a day for it.',
      {
        customer: 'Who',
        bicycle: 'Make, colour, frame',
        problem: 'What is wrong',
        'day? date': 'When it is brought',
      },
      'job_id, hook_number, planned_on',
    ),
    reads(
      'repair_status',
      'How far a repair is, and what it will cost.',
      { job_id: 'The job' },
      'job_id, status, mechanic, total_eur',
    ),
    reads(
      'jobs_on_stand',
      'What the mechanics work on today.',
      { 'mechanic?': 'Only this one' },
      'jobs[] job_id, bicycle, status, mechanic',
    ),
    writes(
      'quote_repair',
      'Writes an estimate and sends it to the owner.',
      { job_id: 'The job', work: 'What is to be done', 'hours number': 'Working time' },
      'quote_id, parts_eur, total_eur',
    ),
    writes(
      'accept_quote',
      'Notes that the owner agreed to the price.',
      { quote_id: 'The estimate' },
      'quote_id, status, ready_on',
    ),
    writes(
      'log_work',
      'Writes down what was done on a bicycle and how long it took.',
      { job_id: 'The job', work: 'Such as trued rear wheel', 'minutes 5..600': 'Time' },
      'entry_id, minutes_total_count',
    ),
    writes(
      'use_part',
      'Takes a part from the store for a job.',
      { job_id: 'The job', part: 'Which', 'pieces? 1..20': 'How many' },
      'job_id, part, left_count',
    ),
    writes(
      'finish_job',
      'Closes a repair and tells the owner to fetch the bicycle.',
      { job_id: 'The job', 'test_ride? yesno': 'Whether it was ridden' },
      'job_id, total_eur, status',
    ),
    reads(
      'diagnose_noise',
      'Likely causes of a click, squeak or rattle.',
      { noise: 'What it sounds like', 'when?': 'Pedalling, braking, over bumps' },
      'causes[] fault, likely_percent, part',
    ),
    reads(
      'find_part',
      'Parts in stock that fit a bicycle or wheel size.',
      { query: 'What is needed', 'fits?': 'Make, model or size' },
      'parts[] part, left_count, price_eur',
    ),
    writes(
      'order_part',
      'Orders a part from the wholesaler.',
      { part: 'Which', 'pieces 1..200': 'How many', 'job_id?': 'For which repair' },
      'order_id, arrives_on, price_eur',
    ),
    writes(
      'count_stock',
      'Corrects how many of a part really lie in the drawer.',
      { part: 'Which', 'pieces 0..5000': 'Counted' },
      'part, left_count, difference_count',
    ),
    reads(
      'gear_calculator',
      'Gear inches and metres per turn for chainrings and sprockets.',
      {
        'chainring 20..60': 'Teeth in front',
        'sprocket 9..52': 'Teeth behind',
        'wheel? 20|24|26|28': 'Wheel in inches',
      },
      'gear_inches_number, development_m',
    ),
    reads(
      'tyre_pressure',
      'Suggested tyre pressure for a rider and load.',
      {
        'rider_kg 20..200': 'Weight of the rider',
        'tyre_mm 18..80': 'Width of the tyre',
        'ground? road|gravel|trail': 'Where',
      },
      'front_bar_number, rear_bar_number',
    ),
    reads(
      'spoke_length',
      'Length of the spokes to order for a wheel.',
      {
        'rim_mm number': 'Inner diameter of the rim',
        'hub_mm number': 'Diameter at the holes',
        'holes 16..48': 'Number of spokes',
        'crossings? 0..4': 'How often spokes cross',
      },
      'left_mm_number, right_mm_number',
    ),
    reads(
      'hire_availability',
      'Which hire bicycles are free on these days.',
      {
        'from date': 'First day',
        'to date': 'Last day',
        'kind? city|touring|cargo|child|electric': 'Only this kind',
      },
      'bicycles[] bicycle_id, bicycle, day_eur',
    ),
    writes(
      'hire_out',
      'Rents a bicycle to somebody.',
      { bicycle_id: 'Which', name: 'Who', 'from date': 'First day', 'to date': 'Last day' },
      'hire_id, deposit_eur, total_eur',
    ),
    writes(
      'take_back_hire',
      'Takes a rented bicycle back and settles the deposit.',
      { hire_id: 'The rental', 'damage?': 'What is bent or missing' },
      'hire_id, refund_eur, status',
    ),
    reads(
      'check_frame_number',
      'Looks a frame number up among stolen bicycles.',
      { frame_number: 'Stamped under the bottom bracket' },
      'frame_number, is_reported, reported_on',
    ),
    writes(
      'register_frame',
      'Records owner and frame number, so that a stolen bicycle finds home.',
      { frame_number: 'Stamped number', owner: 'Full name', bicycle: 'What it looks like' },
      'registration_id, status',
    ),
    writes(
      'sell_used_bicycle',
      'Puts a second-hand bicycle up for sale.',
      { bicycle: 'What it is', 'price number': 'Euros', 'frame_cm? 30..70': 'Frame size' },
      'sale_id, hook_number',
    ),
    reads(
      'used_bicycles',
      'Second-hand bicycles for sale that fit a rider.',
      { 'rider_cm? 90..220': 'Height of the rider', 'most? number': 'Highest price in euros' },
      'bicycles[] sale_id, bicycle, price_eur',
    ),
    reads(
      'suggest_ride',
      'A ride from the workshop of about this length.',
      { 'km 2..200': 'How far', 'hills? flat|some|many': 'How steep' },
      'route, distance_km, climb_m',
    ),
    writes(
      'join_repair_class',
      'Signs somebody up for the evening where one learns to mend punctures and brakes.',
      { name: 'Who', 'day date': 'Which evening' },
      'booking_id, places_left',
    ),
  ],
};
