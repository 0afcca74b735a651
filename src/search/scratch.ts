/** What a term gives the tools of one view, before its rarity: the inner loop of common words, done once. */
export interface Impacts {
  readonly ordinals: Int32Array;
  readonly values: Float32Array;
  readonly highest: number;
}

/** Impacts kept for the view at work: so many per tool at 8 bytes each, the oldest make room. */
const MOST_IMPACTS_PER_TOOL = 12;

/**
 * Working space for one question, shared by all views of a pool because a search is synchronous.
 * Arrays by ordinal (a document's place in the view at work) are as long as the largest view.
 */
export class Scratch {
  /** For a document of the pool its ordinal + 1 in the view at work, else 0. */
  ordinals = new Int32Array(0);
  /** Per ordinal; all zero between questions. */
  scores = new Float64Array(0);
  /** Per ordinal, in tenths: how many words of the question the tool meets. */
  met = new Int32Array(0);
  /** Ordinals with a score, and how many there are. */
  touched = new Int32Array(0);
  touchedCount = 0;
  /** How many tools of the view at work have a common term. */
  readonly frequencies = new Map<number, number>();
  readonly #impacts = new Map<number, Impacts>();
  #impactCount = 0;
  #owner: object | undefined;
  #documents: Int32Array | undefined;

  /** Prepares for a view; costs nothing when the same view asks again. */
  take(owner: object, documents: Int32Array, capacity: number): void {
    if (this.#owner === owner && this.ordinals.length >= capacity) return;
    if (this.ordinals.length < capacity) this.ordinals = new Int32Array(Math.ceil(capacity * 1.25));
    else if (this.#documents !== undefined)
      for (const document of this.#documents) this.ordinals[document] = 0;
    for (let ordinal = 0; ordinal < documents.length; ordinal++)
      this.ordinals[documents[ordinal]!] = ordinal + 1;
    this.#forgetTerms();
    this.#owner = owner;
    this.#documents = documents;
    if (this.scores.length >= documents.length) return;
    const room = Math.ceil(documents.length * 1.25);
    this.scores = new Float64Array(room);
    this.met = new Int32Array(room);
    this.touched = new Int32Array(room);
  }

  add(ordinal: number, score: number, met: number): void {
    const before = this.scores[ordinal]!;
    if (before === 0) this.touched[this.touchedCount++] = ordinal;
    this.scores[ordinal] = before + score;
    this.met[ordinal]! += met;
  }

  /** Adds a whole term; with `onlyTouched`, only where there is a score already. */
  addAll({ ordinals, values }: Impacts, factor: number, gainedMet: number, onlyTouched: boolean): void {
    const { scores, met, touched } = this;
    let count = this.touchedCount;
    for (let i = 0; i < ordinals.length; i++) {
      const ordinal = ordinals[i]!;
      const before = scores[ordinal]!;
      if (before === 0) {
        if (onlyTouched) continue;
        touched[count++] = ordinal;
      }
      scores[ordinal] = before + factor * values[i]!;
      met[ordinal]! += gainedMet;
    }
    this.touchedCount = count;
  }

  impacts(term: number): Impacts | undefined {
    return this.#impacts.get(term);
  }

  keepImpacts(term: number, impacts: Impacts): void {
    this.#impactCount += impacts.ordinals.length;
    this.#impacts.set(term, impacts);
    const most = MOST_IMPACTS_PER_TOOL * (this.#documents?.length ?? 0);
    for (const [oldest, { ordinals }] of this.#impacts) {
      if (this.#impactCount <= most) return;
      this.#impacts.delete(oldest);
      this.#impactCount -= ordinals.length;
    }
  }

  #forgetTerms(): void {
    this.frequencies.clear();
    this.#impacts.clear();
    this.#impactCount = 0;
  }

  /** Forgets a view that is closed or renumbered. */
  drop(owner: object): void {
    if (this.#owner !== owner) return;
    this.ordinals.fill(0);
    this.#forgetTerms();
    this.#owner = undefined;
    this.#documents = undefined;
  }

  /** Leaves the arrays as they were found. */
  clear(): void {
    for (let i = 0; i < this.touchedCount; i++) {
      const ordinal = this.touched[i]!;
      this.scores[ordinal] = 0;
      this.met[ordinal] = 0;
    }
    this.touchedCount = 0;
  }
}
