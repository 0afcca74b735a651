/**
 * Working space for one question, shared by all views of a pool because a search is synchronous:
 * numbers here are places in the view (ordinals), so that it is as large as the largest view.
 */
export class Scratch {
  /** For a document of the pool its ordinal + 1 in the view at work, else 0. */
  ordinals = new Int32Array(0);
  scores = new Float64Array(0);
  /** Concepts met, each by the weight of the best alternative. */
  met = new Float64Array(0);
  /** The best an alternative of the concept at work gives a document. */
  best = new Float64Array(0);
  bestWeight = new Float64Array(0);
  /** Ordinals with a score, and how many. */
  touched = new Int32Array(0);
  touchedCount = 0;
  /** What one term hits, before its frequency in the view is known. */
  hits = new Int32Array(0);
  hitValues = new Float64Array(0);
  /** Ordinals the concept at work has met. */
  conceptHits = new Int32Array(0);
  #owner: object | undefined;
  #documents: Int32Array | undefined;

  /** Prepares for a view; costs nothing when the same view asks again. */
  take(owner: object, documents: Int32Array, capacity: number): void {
    if (this.#owner === owner && this.#documents === documents && this.ordinals.length >= capacity) return;
    if (this.ordinals.length < capacity) {
      this.ordinals = new Int32Array(Math.ceil(capacity * 1.25));
    } else if (this.#documents !== undefined) {
      for (const document of this.#documents) this.ordinals[document] = 0;
    }
    documents.forEach((document, ordinal) => {
      this.ordinals[document] = ordinal + 1;
    });
    this.#owner = owner;
    this.#documents = documents;
    if (this.scores.length < documents.length) this.#widen(Math.ceil(documents.length * 1.25));
  }

  /** Forgets a view that is closed or renumbered. */
  drop(owner: object): void {
    if (this.#owner !== owner) return;
    this.ordinals.fill(0);
    this.#owner = undefined;
    this.#documents = undefined;
  }

  #widen(room: number): void {
    this.scores = new Float64Array(room);
    this.met = new Float64Array(room);
    this.best = new Float64Array(room);
    this.bestWeight = new Float64Array(room);
    this.touched = new Int32Array(room);
    this.hits = new Int32Array(room);
    this.hitValues = new Float64Array(room);
    this.conceptHits = new Int32Array(room);
  }
}
