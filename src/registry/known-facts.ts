import { KNOWN_IDS } from './known.ts';
import { SOURCES } from './protocol.ts';

/** What whoever reads a configuration has to know of us: ids that are taken, protocols that are spoken. */
export function knownFacts(): { readonly ids: ReadonlySet<string>; readonly protocols: readonly string[] } {
  return { ids: KNOWN_IDS, protocols: Object.keys(SOURCES) };
}
