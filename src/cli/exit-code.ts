/** How the program ends, for scripts. Stable. */
export const EXIT_CODES = {
  done: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'failed: an upstream, a call or a search did not succeed' },
  usage: { code: 2, meaning: 'the command line was not understood; nothing was done' },
  config: { code: 78, meaning: 'a setting cannot be used, wherever it was given; nothing was done' },
  noModel: {
    code: 66,
    meaning: 'the embedding model that --require-model asks for is missing or damaged; nothing was served',
  },
  interrupted: { code: 130, meaning: 'ended by Ctrl-C before it was done' },
  terminated: { code: 143, meaning: 'ended by SIGTERM before it was done' },
} as const;

export const EXIT = {
  done: EXIT_CODES.done.code,
  failed: EXIT_CODES.failed.code,
  usage: EXIT_CODES.usage.code,
  config: EXIT_CODES.config.code,
  noModel: EXIT_CODES.noModel.code,
  interrupted: EXIT_CODES.interrupted.code,
  terminated: EXIT_CODES.terminated.code,
} as const;
