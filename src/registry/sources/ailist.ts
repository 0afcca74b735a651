import type { RegistrySource } from '../source.ts';
import { plainSource } from './default.ts';

/** The projects of AI List; their addresses are pages unless they look like endpoints. */
export const ailist: RegistrySource = plainSource({
  keys: ['projects', 'servers', 'data', 'items'],
  url: 'if-it-looks-so',
  isAddable: false,
  isUnconfirmed: true,
});
