import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const OBSERVATORY: SampleServer = {
  name: 'observatory',
  description: 'telescope, sky and observing nights of the hill observatory',
  instructions:
    'Times are UTC. The dome must be shut in rain or wind above 15 m/s, whatever is being observed.',
  words: {
    target: ['M 31', 'Saturn', 'Albireo', 'comet C/2031 K2', 'NGC 891'],
    constellation: ['Andromeda', 'Cygnus', 'Lyra', 'Ursa Major'],
    filter: ['clear', 'red', 'H-alpha', 'blue'],
    status: ['queued', 'running', 'done', 'clouded out'],
    observer: ['H. Ness', 'the evening class', 'R. Vale'],
    instrument: ['main camera', 'guide camera', 'spectrograph'],
  },
  tools: [
    reads(
      'sky_tonight',
      'Planets, moon and bright things to see this evening.',
      { 'day? date': 'Tonight when left out' },
      'targets[] target, rises_time, sets_time, brightness_number',
    ),
    reads(
      'find_target',
      'Coordinates and brightness of a star, galaxy, nebula or planet by name.',
      { name: 'Name or catalogue number' },
      'target, right_ascension, declination, brightness_number, constellation',
    ),
    reads(
      'visibility_curve',
      'How high something stands in the sky through a night.',
      { target: 'What', 'night date': 'Which night' },
      'points[] at_time, altitude_degrees_number',
    ),
    reads(
      'moon_phase',
      'Phase, rise and set of the moon.',
      { 'day? date': 'Today when left out' },
      'lit_percent, rises_time, sets_time',
    ),
    reads(
      'satellite_passes',
      'When bright satellites and the space station cross the sky.',
      { 'hours? 1..72': 'How far ahead', 'name?': 'Only this one' },
      'passes[] satellite, starts_at, highest_degrees_number',
    ),
    reads(
      'comet_ephemeris',
      'Where a comet or asteroid will be in the sky.',
      { name: 'Designation', 'nights? 1..30': 'How many nights' },
      'positions[] night_on, right_ascension, declination, brightness_number',
    ),
    reads(
      'seeing_forecast',
      'Clouds, transparency and steadiness of the air for observing.',
      { 'nights? 1..5': 'How many nights' },
      'nights[] night_on, cloud_percent, seeing_number',
    ),
    reads(
      'dome_status',
      'Whether the dome is open, where it points, wind and rain.',
      {},
      'is_open, azimuth_degrees_number, wind_number, is_raining',
    ),
    writes('open_dome', 'Opens the slit of the dome.', { 'reason?': 'For the log' }, 'is_open, changed_at'),
    writes(
      'close_dome',
      'Shuts the slit of the dome at once.',
      { 'reason?': 'For the log' },
      'is_open, changed_at',
    ),
    writes(
      'point_telescope',
      'Swings the telescope to something and follows it.',
      { target: 'Name or coordinates' },
      'target, settled_at, error_arcsec_number',
    ),
    writes('park_telescope', 'Brings the telescope to rest.', {}, 'status, parked_at'),
    writes(
      'focus_telescope',
      'Finds the sharpest focus with a star.',
      { 'filter? clear|red|green|blue|halpha': 'Through which filter' },
      'position_number, star_width_arcsec_number',
    ),
    writes(
      'take_exposure',
      'Takes a picture through the main camera.',
      {
        target: 'What',
        'seconds number': 'Exposure',
        'filter? clear|red|green|blue|halpha': 'Filter',
        'frames? 1..500': 'How many',
      },
      'exposure_id, done_at, frame_count',
    ),
    writes(
      'take_calibration',
      'Takes dark, flat or bias frames.',
      { 'kind dark|flat|bias': 'Which', 'frames 1..200': 'How many' },
      'exposure_id, frame_count',
    ),
    writes(
      'queue_observation',
      'Puts an observing wish into the queue for a clear night.',
      { target: 'What', 'minutes 1..480': 'Time needed', 'moonless? yesno': 'Only without the moon' },
      'request_id, place_in_line, status',
    ),
    writes(
      'withdraw_observation',
      'Takes a wish back out of the queue.',
      { request_id: 'The wish' },
      'request_id, status',
    ),
    reads(
      'observing_queue',
      'What is to be observed next, and by whom it was asked for.',
      {},
      'requests[] request_id, target, observer, length_minutes',
    ),
    reads(
      'search_images',
      'Finds pictures taken here earlier.',
      { target: 'What they show', 'since? date': 'First night' },
      'images[] image_id, target, taken_at, filter',
    ),
    reads(
      'measure_brightness',
      'Brightness of a star in a picture, compared with its neighbours.',
      { image_id: 'The picture', star: 'Which' },
      'star, brightness_number, error_number',
    ),
    reads(
      'solve_field',
      'Says where in the sky a picture was taken.',
      { image_id: 'The picture' },
      'right_ascension, declination, scale_arcsec_number',
    ),
    writes(
      'log_observation',
      'Writes an entry into the observing book.',
      { target: 'What', text: 'What was seen', 'observer?': 'By whom' },
      'entry_id, logged_at',
    ),
    writes(
      'report_meteor',
      'Notes a fireball for the network of observers.',
      { seen_at: 'Time', direction: 'Where it came from', 'seconds? number': 'How long it was seen' },
      'report_id, matching_count',
    ),
    writes(
      'book_public_evening',
      'Reserves places for visitors on a stargazing evening.',
      { 'day date': 'Which evening', 'people 1..25': 'How many', name: 'For whom' },
      'booking_id, places_left, price_eur',
    ),
  ],
};
