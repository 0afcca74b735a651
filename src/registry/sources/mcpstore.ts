import type { RegistrySource } from '../source.ts';
import { plainSource } from './default.ts';

/** MCP Store. Only the envelope of its listing is known; endpoints others made up from its ids are not given. */
export const mcpstore: RegistrySource = plainSource({
  keys: ['servers', 'packages', 'data', 'items'],
  url: 'if-it-looks-so',
  isAddable: false,
  isUnconfirmed: true,
});
