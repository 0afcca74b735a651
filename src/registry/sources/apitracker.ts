import type { RegistrySource } from '../source.ts';
import { plainSource } from './default.ts';

/** apitracker's servers. Nothing but the envelope is known of its shape. */
export const apitracker: RegistrySource = plainSource({
  keys: ['servers', 'packages', 'items', 'data'],
  url: 'if-it-looks-so',
  isAddable: false,
  isUnconfirmed: true,
});
