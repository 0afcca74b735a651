/** One file of a published model. */
export interface ModelFile {
  /** Its path within the model. */
  readonly file: string;
  /** Its size, when it is known beforehand. */
  readonly bytes: number | undefined;
  /** Its SHA-256 in hexadecimal, when it is pinned. */
  readonly sha256: string | undefined;
}

export interface KnownModel {
  readonly sentence: string;
  /** Where its files lie, of one revision that never changes. */
  readonly base: string;
  readonly files: readonly ModelFile[];
}

/** What `fetch-model` gets when no name is given. */
export const DEFAULT_MODEL = 'potion-multilingual-128M';

/**
 * Models whose files are pinned: sizes and digests as the hub listed them for these revisions in October 2026. The
 * configuration of the two English ones is not pinned; all it says here is how many tokens of a text count.
 */
export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  'potion-multilingual-128M': {
    sentence: '101 languages, 256 numbers a vector; 531 MB to fetch, 160 MB kept',
    base: 'https://huggingface.co/minishlab/potion-multilingual-128M/resolve/73908c3438cf03b6a01bcb9611d62b23d0726f08',
    files: [
      {
        file: 'config.json',
        bytes: 271,
        sha256: '595e4cab2093732efd5dbe084fd5c1826b5eea693b73b4c1fd971672867d2e54',
      },
      {
        file: 'tokenizer.json',
        bytes: 18_616_131,
        sha256: '19f1909063da3cfe3bd83a782381f040dccea475f4816de11116444a73e1b6a1',
      },
      {
        file: 'model.safetensors',
        bytes: 512_361_560,
        sha256: '14b5eb39cb4ce5666da8ad1f3dc6be4346e9b2d601c073302fa0a31bf7943397',
      },
    ],
  },
  'potion-retrieval-32M': {
    sentence: 'English, for search, 512 numbers a vector; 131 MB to fetch, 37 MB kept',
    base: 'https://huggingface.co/minishlab/potion-retrieval-32M/resolve/6fc8051fab2a1e0ee76689cf08c853792ac285e7',
    files: [
      { file: 'config.json', bytes: undefined, sha256: undefined },
      {
        file: 'tokenizer.json',
        bytes: 1_493_150,
        sha256: '7d75cbc54318138807c401b0f0c9721117c628b39de8e8e0edb6cb17e0ee7d18',
      },
      {
        file: 'model.safetensors',
        bytes: 129_210_456,
        sha256: '07609e5bd33aad37900b3fd62f4ec96f6daec88ca4d46b9d8b928bfababf6ea0',
      },
    ],
  },
  'potion-base-8M': {
    sentence: 'English, 256 numbers a vector; 31 MB to fetch, 9 MB kept',
    base: 'https://huggingface.co/minishlab/potion-base-8M/resolve/bf8b056651a2c21b8d2565580b8569da283cab23',
    files: [
      { file: 'config.json', bytes: undefined, sha256: undefined },
      {
        file: 'tokenizer.json',
        bytes: 683_666,
        sha256: 'e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50',
      },
      {
        file: 'model.safetensors',
        bytes: 30_236_760,
        sha256: 'f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2',
      },
    ],
  },
};
