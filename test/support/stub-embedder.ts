import type { Embedder, TextRole } from '../../src/search/embedder.ts';

/** An embedder of a few ideas, in whatever language, which does what a test wants done with each request. */
export interface StubEmbedder extends Embedder {
  /** What was asked for, in order. */
  readonly requests: readonly { readonly texts: readonly string[]; readonly role: TextRole }[];
  readonly isClosed: boolean;
  /** Called before each answer; a promise delays it, a rejection is the answer. */
  onRequest: (texts: readonly string[], role: TextRole, signal?: AbortSignal) => Promise<void> | void;
}

/** Each is one direction of the space. */
const IDEAS = [
  /course|route|kursas|maršrut|kurs/iu,
  /chart|map|žemėlap|karte/iu,
  /food|provision|meal|maist|essen/iu,
  /recipe|cook|recept|rezept/iu,
  /anchor|inkar|anker/iu,
  /barrel|statin|fässer/iu,
  /notice|board|skelb|anzeige/iu,
] as const;

export function stubEmbedder(onRequest: StubEmbedder['onRequest'] = () => undefined): StubEmbedder {
  const requests: { texts: readonly string[]; role: TextRole }[] = [];
  let isClosed = false;
  return {
    id: 'stub',
    dimensions: IDEAS.length,
    requests,
    get isClosed() {
      return isClosed;
    },
    onRequest,
    async embed(texts, role, signal) {
      requests.push({ texts, role });
      await this.onRequest(texts, role, signal);
      return texts.map(vectorOf);
    },
    close() {
      isClosed = true;
      return Promise.resolve();
    },
  };
}

function vectorOf(text: string): Float32Array {
  const raw = IDEAS.map((idea) => (idea.test(text) ? 1 : 0));
  const length = Math.hypot(...raw) || 1;
  return Float32Array.from(raw, (number) => number / length);
}
