import { defineConfig } from 'vitest/config';

/** `npm run test:live`: the only tests that leave this machine. */
export default defineConfig({
  test: { include: ['test/live/**/*.live.ts'], testTimeout: 90_000 },
});
