import { describe, expect, it } from 'vitest';
import type { HouseEvent } from '../base/observer.ts';
import type { Embedder } from '../search/embedder.ts';
import type { DocumentsToEmbed } from '../search/meaning-port.ts';
import { stubEmbedder } from '../../test/support/stub-embedder.ts';
import { until } from '../../test/support/wait.ts';
import { ToolVectors } from './tool-vectors.ts';

/** The documents of a view that keeps its vectors here. */
class Documents implements DocumentsToEmbed {
  readonly vectors = new Map<string, Float32Array>();
  /** The second part of them. */
  readonly seconds = new Map<string, Float32Array>();
  readonly #texts: readonly string[];

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  get counts(): DocumentsToEmbed['counts'] {
    return { all: this.#texts.length, embedded: [this.vectors.size, this.seconds.size] };
  }

  next(limit: number, part: number): ReturnType<DocumentsToEmbed['next']> {
    const vectors = part === 0 ? this.vectors : this.seconds;
    return this.#texts
      .filter((text) => !vectors.has(text))
      .slice(0, limit)
      .map((text) => ({ text, keep: (vector) => void vectors.set(text, vector) }));
  }
}

const texts = (count: number, of = 'map'): string[] => Array.from({ length: count }, (_, i) => `${of} ${i}`);

function toolVectors(
  open: () => Promise<Embedder>,
  questionWaitMs = 5_000,
): { vectors: ToolVectors; notes: string[] } {
  const notes: string[] = [];
  const observer = (event: HouseEvent): void => void (event.kind === 'note' && notes.push(event.message));
  return { vectors: new ToolVectors({ open, observer, questionWaitMs }), notes };
}

describe('documents', () => {
  it('get their vectors in batches, one view after the other, in one opening of the model', async () => {
    const embedder = stubEmbedder();
    let openings = 0;
    const { vectors } = toolVectors(() => {
      openings++;
      return Promise.resolve(embedder);
    });
    const [first, second] = [new Documents(texts(150)), new Documents(texts(10, 'food'))];
    expect(openings).toBe(0);
    vectors.want(first);
    vectors.want(second);
    expect(vectors.progress).toEqual({ all: 160, embedded: 0, whole: 0 });
    await vectors.settled(5_000);
    expect([first.vectors.size, second.vectors.size, openings]).toEqual([150, 10, 1]);
    expect(embedder.requests.map((request) => request.texts.length)).toEqual([64, 64, 22, 10]);
    expect(embedder.requests.every(({ role }) => role === 'document')).toBe(true);
    vectors.want(first);
    await vectors.settled(5_000);
    expect(embedder.requests).toHaveLength(4);
    await vectors.close();
    expect(embedder.isClosed).toBe(true);
  });

  it('that cannot be embedded are like nothing and hold nobody up', async () => {
    const embedder = stubEmbedder((asked) => {
      if (asked.includes('map 5')) throw new Error('a text it chokes on');
    });
    const { vectors, notes } = toolVectors(() => Promise.resolve(embedder));
    const documents = new Documents(texts(20));
    vectors.want(documents);
    await vectors.settled(5_000);
    expect(documents.vectors.size).toBe(20);
    expect([...documents.vectors.get('map 5')!].every((number) => number === 0)).toBe(true);
    expect([...documents.vectors.get('map 6')!].some((number) => number !== 0)).toBe(true);
    expect(notes).toEqual([]);
  });

  it('wait when the model fails, with one note, and get their vectors when it works again', async () => {
    let isBroken = true;
    const embedder = stubEmbedder(() => {
      if (isBroken) throw new Error('the worker died');
    });
    const { vectors, notes } = toolVectors(() => Promise.resolve(embedder));
    const documents = new Documents(texts(3));
    vectors.want(documents);
    await until('it has failed', () => notes.length === 1);
    expect(documents.vectors.size).toBe(0);
    isBroken = false;
    await vectors.settled(10_000);
    expect(documents.vectors.size).toBe(3);
    expect(notes).toEqual(['the embedding model failed: the worker died']);
  });

  it('stay without when the model cannot be opened: one note, then silence', async () => {
    const { vectors, notes } = toolVectors(() => Promise.reject(new Error('model.bin is cut short')));
    vectors.want(new Documents(texts(3)));
    await vectors.settled(5_000);
    vectors.want(new Documents(texts(4)));
    await vectors.settled(5_000);
    expect(notes).toEqual(['search goes by words alone: model.bin is cut short']);
    expect(await vectors.questionVectors(['map'])).toEqual([]);
    await expect(vectors.opened()).rejects.toThrow('cut short');
    await vectors.close();
  });

  it('are left when the program closes, and the model is closed', async () => {
    let asked: AbortSignal | undefined;
    const embedder = stubEmbedder(
      (_, __, signal) =>
        new Promise((_resolve, reject) => {
          asked = signal;
          signal?.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    );
    const { vectors, notes } = toolVectors(() => Promise.resolve(embedder));
    vectors.want(new Documents(texts(3)));
    await until('the model is asked', () => asked);
    await vectors.close();
    expect([asked?.aborted, embedder.isClosed, notes]).toEqual([true, true, []]);
    vectors.want(new Documents(texts(1)));
    expect(embedder.requests).toHaveLength(1);
  });
});

describe('vectors in two parts', () => {
  /** Gives the second part when it is let to. */
  function inTwo(
    second: () => Promise<void> | void,
  ): Embedder & { readonly asked: (readonly [number, number])[] } {
    const embedder = stubEmbedder();
    const asked: (readonly [part: number, texts: number])[] = [];
    return {
      ...embedder,
      dimensions: embedder.dimensions + 2,
      asked,
      parts: {
        dimensions: [embedder.dimensions, 2],
        async embed(of, part, signal) {
          asked.push([part, of.length]);
          if (part === 0) return embedder.embed(of, 'document', signal);
          await second();
          return of.map(() => Float32Array.of(0.6, 0.8));
        },
      },
    };
  }

  it('come one part after the other, and a second part holds up nobody’s first', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const embedder = inTwo(() => held);
    const { vectors, notes } = toolVectors(() => Promise.resolve(embedder));
    const [first, other] = [new Documents(texts(70)), new Documents(texts(5, 'food'))];
    vectors.want(first);
    await until('the first parts are there', () => first.vectors.size === 70);
    expect(vectors.progress).toEqual({ all: 70, embedded: 70, whole: 0 });
    vectors.want(other);
    await until('those of the other too', () => other.vectors.size === 5);
    expect([first.seconds.size, other.seconds.size]).toEqual([0, 0]);
    release();
    await vectors.settled(5_000);
    expect([first.seconds.size, other.seconds.size]).toEqual([70, 5]);
    expect(first.seconds.get('map 0')).toHaveLength(2);
    expect(embedder.asked.filter(([part]) => part === 1)).toEqual([
      [1, 64],
      [1, 6],
      [1, 5],
    ]);
    expect(notes).toEqual([]);
  });

  it('are told of once all documents have them, part by part', async () => {
    const events: HouseEvent[] = [];
    const embedder = inTwo(() => undefined);
    const observer = (event: HouseEvent): void => void events.push(event);
    const vectors = new ToolVectors({
      open: () => Promise.resolve(embedder),
      observer,
      questionWaitMs: 1_000,
    });
    const documents = new Documents(texts(70));
    vectors.want(documents);
    await vectors.settled(5_000);
    vectors.want(documents);
    await vectors.settled(5_000);
    const ms = expect.any(Number) as number;
    expect(events).toHaveLength(2);
    expect(events).toContainEqual({ kind: 'vectors', tools: 70, isWhole: false, ms });
    expect(events).toContainEqual({ kind: 'vectors', tools: 70, isWhole: true, ms });
  });

  it('that cannot be had leave the others as they are, with one note', async () => {
    let isBroken = true;
    const embedder = inTwo(() => {
      if (isBroken) throw new Error('the second file is cut short');
    });
    const { vectors, notes } = toolVectors(() => Promise.resolve(embedder));
    const documents = new Documents(texts(3));
    vectors.want(documents);
    await until('it has failed', () => notes.length === 1);
    await until('the first parts are there', () => documents.vectors.size === 3);
    isBroken = false;
    await vectors.settled(10_000);
    expect([documents.vectors.size, documents.seconds.size]).toEqual([3, 3]);
    expect(notes).toEqual(['the embedding model failed: the second file is cut short']);
  });

  it('are missed by an operator who demands them, and once in the log by others', async () => {
    const shortfall = 'there is no file english.safetensors';
    const { vectors, notes } = toolVectors(() => Promise.resolve({ ...stubEmbedder(), shortfall }));
    await expect(vectors.opened()).rejects.toMatchObject({ code: 'model_missing', message: shortfall });
    vectors.want(new Documents(texts(3)));
    await vectors.settled(5_000);
    vectors.want(new Documents(texts(4)));
    await vectors.settled(5_000);
    expect(notes).toEqual([`search goes by a part of its model: ${shortfall}`]);
  });
});

describe('questions', () => {
  async function ready(
    onRequest: Parameters<typeof stubEmbedder>[0],
    questionWaitMs?: number,
  ): Promise<ToolVectors> {
    const embedder = stubEmbedder();
    const { vectors } = toolVectors(() => Promise.resolve(embedder), questionWaitMs);
    vectors.want(new Documents(['map']));
    await vectors.settled(5_000);
    embedder.onRequest = onRequest!;
    return vectors;
  }

  it('get nothing before the model is there, without waiting for it', async () => {
    const { vectors } = toolVectors(() => new Promise(() => undefined));
    expect(await vectors.questionVectors(['map'])).toEqual([]);
    vectors.want(new Documents(['map']));
    expect(await vectors.questionVectors(['map'])).toEqual([]);
  });

  it('get a vector each, in order', async () => {
    const vectors = await ready(() => undefined);
    const found = await vectors.questionVectors(['Karte', 'Essen']);
    expect(found.map((vector) => vector.indexOf(1))).toEqual([1, 2]);
  });

  it('get nothing when the model is late, fails or gives something else', async () => {
    const late = await ready(() => new Promise(() => undefined), 20);
    expect(await late.questionVectors(['map'])).toEqual([]);
    const failing = await ready(() => Promise.reject(new Error('no')));
    expect(await failing.questionVectors(['map'])).toEqual([]);
    const embedder = stubEmbedder();
    const odd = toolVectors(() =>
      Promise.resolve({
        ...embedder,
        embed: (asked: readonly string[], role) =>
          role === 'question' ? Promise.resolve([new Float32Array(3)]) : embedder.embed(asked, role),
      } satisfies Embedder),
    ).vectors;
    odd.want(new Documents(['map']));
    await odd.settled(5_000);
    expect(await odd.questionVectors(['map'])).toEqual([]);
  });

  it('are given up when their caller goes', async () => {
    const vectors = await ready(() => new Promise(() => undefined));
    const caller = new AbortController();
    const found = vectors.questionVectors(['map'], caller.signal);
    caller.abort();
    expect(await found).toEqual([]);
  });
});
