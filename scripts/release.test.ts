import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CHECKS } from './release-checks.mjs';
import { runDockerfile, tryImage } from './release-dockerfile.mjs';
import { openScene } from './release-scene.mjs';
import { release, sha256 } from './release.mjs';

const root = join(import.meta.dirname, '..');
const RELEASE_MS = 300_000;

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'release-test-'));
  // Another user goes in.
  chmodSync(made, 0o755);
  return made;
}

/** Of one release all is tried; `npm run release:check` tries the rest of it, and whether it can be made again. */
describe.runIf(existsSync(join(root, 'dist/bin.js')))('a release', () => {
  let out = '';
  let made: Awaited<ReturnType<typeof release>>;
  beforeAll(async () => {
    out = folder();
    made = await release({ root, out, baseUrl: 'https://downloads.example.com/x/' });
    return () => rmSync(out, { recursive: true, force: true });
  }, RELEASE_MS);

  const isThere = async (name: string): Promise<string | undefined> => {
    const scene = openScene({ root, out });
    try {
      return await CHECKS[name]!(scene);
    } finally {
      await scene.close();
    }
  };

  it('runs through npx where only its npm packages are', { timeout: RELEASE_MS }, async () => {
    expect(await isThere('npm')).toBeUndefined();
  });

  it(
    'has a .deb that is installed, found complete, started and removed',
    { timeout: RELEASE_MS },
    async (test) => {
      const skipped = await isThere('deb');
      if (skipped === undefined) return;
      // Only what this machine lacks may be a reason.
      expect(made.notes.length > 0 || skipped.includes('no dpkg'), skipped).toBe(true);
      test.skip(skipped);
    },
  );

  it('has a hash for every file, and Homebrew names that of the archive', () => {
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n');
    expect(sums).toEqual(
      made.files.filter((file) => file !== 'SHA256SUMS').map((file) => `${sha256(join(out, file))}  ${file}`),
    );
    const archive = `mcp-toolsearch-proxy-${made.version}.tar.gz`;
    for (const kind of ['formula', 'cask']) {
      const text = readFileSync(join(out, `homebrew-${kind}.rb`), 'utf8');
      expect(text).toContain(`url "https://downloads.example.com/x/${archive}"`);
      expect(text).toContain(`sha256 "${sha256(join(out, archive))}"`);
      expect(text).not.toContain('{{');
    }
  });

  it('has a bill of materials of exactly the packages in the archive', () => {
    const bom = JSON.parse(
      readFileSync(join(out, `mcp-toolsearch-proxy-${made.version}.cdx.json`), 'utf8'),
    ) as {
      bomFormat: string;
      components: readonly { name: string }[];
    };
    expect(bom.bomFormat).toBe('CycloneDX');
    const listed = execFileSync('tar', ['-tzf', join(out, `mcp-toolsearch-proxy-${made.version}.tar.gz`)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    // A package's own root; some hold more files called package.json further down.
    const inside = [...listed.matchAll(/node_modules\/((?:@[^/\n]+\/)?[^/@.\n][^/\n]*)\/package\.json$/gm)];
    const names = bom.components.map(({ name }) => name);
    expect(new Set(inside.map(([, name]) => name))).toEqual(new Set(names));
  });
});

describe('a Dockerfile without an engine', () => {
  const build = (text: string): ReturnType<typeof runDockerfile> => {
    const [context, into] = [folder(), folder()];
    onTestFinished(() => {
      for (const each of [context, into]) rmSync(each, { recursive: true, force: true });
    });
    mkdirSync(join(context, 'src'));
    writeFileSync(join(context, 'src/a.js'), 'A');
    writeFileSync(join(context, 'src/a.test.ts'), 'left out');
    return runDockerfile({ text, context, into, env: process.env, say: () => undefined });
  };
  const server =
    "require('http').createServer((_, r) => r.end()).listen(Number(process.env.MCPPROXY_LISTEN.split(':')[1]))";
  const probe = "fetch('http://127.0.0.1:8080/').then(() => process.exit(0), () => process.exit(1))";
  const image = (user: string, code: string): string => `
FROM base
USER ${user}
HEALTHCHECK --interval=1s CMD ["node", "-e", "${probe}"]
ENTRYPOINT ["node"]
CMD ["-e", "${code}"]
`;
  const port = 20_000 + (process.pid % 20_000);

  it('does each step in its own stage, with what was copied and nothing else', () => {
    const built = build(`
# A comment
ARG ONE=1
FROM base:\${ONE} AS build
WORKDIR /src
COPY src ./lib
RUN ls lib > seen && \\
    pwd | grep -q /src
FROM base
WORKDIR /app
COPY --from=build /src/seen /src/lib/a.js ./
ENV A=b
USER 1000:1000
ENTRYPOINT ["node", "/app/a.js"]
`);
    expect(readFileSync(join(built.folder, 'app/seen'), 'utf8')).toBe('a.js\n');
    expect(readFileSync(join(built.folder, 'app/a.js'), 'utf8')).toBe('A');
    expect(existsSync(join(built.folder, 'src'))).toBe(false);
    expect(built).toMatchObject({
      env: { A: 'b' },
      user: { uid: 1000, gid: 1000 },
      command: ['node', join(built.folder, 'app/a.js')],
    });
  });

  it('fails with its step, and knows no instruction it does not run', () => {
    expect(() => build('FROM a\nRUN exit 3\n')).toThrow('RUN exit 3 ended with 3');
    expect(() => build('FROM a\nCOPY missing .\n')).toThrow('missing');
    expect(() => build('FROM a\nONBUILD RUN x\n')).toThrow("a Dockerfile's ONBUILD");
  });

  it(
    'is no image when it runs as root, never gets healthy, or does not stop in order',
    { timeout: 60_000 },
    async () => {
      const stops = `process.on('SIGTERM', () => process.exit(0)); ${server}`;
      expect(await tryImage(build(image('1000:1000', stops)), port, [])).toBe('');
      await expect(tryImage(build(image('0:0', stops)), port + 1, [])).rejects.toThrow('runs as root');
      await expect(tryImage(build(image('1000:1000', 'process.exit(1)')), port + 2, [])).rejects.toThrow(
        'not healthy',
      );
      await expect(tryImage(build(image('1000:1000', server)), port + 3, [])).rejects.toThrow(
        'ended with SIGTERM',
      );
    },
  );
});
