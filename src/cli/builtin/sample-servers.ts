import type { SampleServer } from './tool.ts';
import { ALLOTMENTS } from './servers/allotments.ts';
import { ARCHIVE } from './servers/archive.ts';
import { BAKERY } from './servers/bakery.ts';
import { BICYCLES } from './servers/bicycles.ts';
import { COUNCIL } from './servers/council.ts';
import { FERRY } from './servers/ferry.ts';
import { LIBRARY } from './servers/library.ts';
import { MUSEUM } from './servers/museum.ts';
import { MUSIC_SCHOOL } from './servers/music-school.ts';
import { OBSERVATORY } from './servers/observatory.ts';
import { POOL } from './servers/pool.ts';
import { THEATRE } from './servers/theatre.ts';
import { VET } from './servers/vet.ts';

/** The services of an invented town, each an MCP server of its own. */
export const SAMPLE_SERVERS: readonly SampleServer[] = [
  ALLOTMENTS,
  ARCHIVE,
  BAKERY,
  BICYCLES,
  COUNCIL,
  FERRY,
  LIBRARY,
  MUSEUM,
  MUSIC_SCHOOL,
  OBSERVATORY,
  POOL,
  THEATRE,
  VET,
];
