import { KNOWN_REGISTRIES } from '../../src/registry/known.ts';
import { sourceOf } from '../../src/registry/protocol.ts';
import { code, page, table, WRITTEN } from './markdown.ts';

/** `docs/registries.md`. */
export function registriesPage(): string {
  const open = KNOWN_REGISTRIES.filter(({ serversUrl }) => serversUrl !== undefined);
  const closed = KNOWN_REGISTRIES.filter(({ serversUrl }) => serversUrl === undefined);
  return page(
    '# Registries that ship',
    WRITTEN,
    'These can be searched by their id, their name or an older name; [discovery.md](discovery.md) says how, and how to add your own. `all` asks every one of them.',
    table(
      ['Id', 'Name', 'What it is', 'Its own search', 'Tags', 'Can be added', 'Key', 'Also called'],
      open.map(({ id, name, description, protocol = 'default', requiresKey, apiKeyEnv, aliases = [] }) => {
        const source = sourceOf(protocol);
        return [
          code(id),
          name,
          description,
          source.searches ?? 'none; its whole listing is read',
          source.hasTags ? 'yes' : 'no',
          `${source.isAddable ? 'yes' : 'rarely'}${source.isUnconfirmed === true ? ' (format not confirmed)' : ''}`,
          apiKeyEnv === undefined ? '–' : `${code(apiKeyEnv)}${requiresKey === true ? '' : ', optional'}`,
          aliases.map(code).join(', '),
        ];
      }),
    ),
    'These have no listing a program can read. Searching one says so and names its page.',
    table(
      ['Id', 'Name', 'Page'],
      closed.map(({ id, name, url }) => [code(id), name, `<${url}>`]),
    ),
  );
}
