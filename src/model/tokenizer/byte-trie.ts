/**
 * A trie over bytes in flat arrays. Node 0 is the root and never a child, so 0 also means "none". The children of
 * `node` are `firstChild[node]` up to `firstChild[node + 1]`, in the order of their labels, and lie behind it.
 */
export interface ByteTrie {
  /** The root's children by label. */
  readonly roots: Int32Array;
  readonly firstChild: Int32Array;
  readonly labels: Uint8Array;
  /** Number of the piece that ends at a node, or −1. */
  readonly pieceAt: Int32Array;
}

/** The child of `node` by `label`, or 0. */
export function childOf(
  { firstChild, labels }: Pick<ByteTrie, 'firstChild' | 'labels'>,
  node: number,
  label: number,
): number {
  let low = firstChild[node]!;
  let high = firstChild[node + 1]!;
  while (high - low > 8) {
    const middle = (low + high) >> 1;
    if (labels[middle]! <= label) low = middle;
    else high = middle;
  }
  for (; low < high; low++) if (labels[low] === label) return low;
  return 0;
}

/**
 * The trie of pieces that lie one after another in `bytes`, `lengths` bytes each and none empty. Given in the order
 * of their bytes they need no sorting; of a piece that appears twice the later number counts.
 */
export function buildByteTrie(bytes: Uint8Array, lengths: ArrayLike<number>): ByteTrie {
  const count = lengths.length;
  const offsets = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i]! + lengths[i]!;
  if (offsets[count] !== bytes.length) throw new RangeError('the pieces and their lengths do not agree');
  const order = bytewiseOrder(bytes, offsets);
  const nodes = countNodes(bytes, offsets, order);

  const firstChild = new Int32Array(nodes + 1);
  const labels = new Uint8Array(nodes);
  const pieceAt = new Int32Array(nodes).fill(-1);
  // Breadth first, so that children lie together: each node stands for a run of the sorted pieces.
  const runStart = new Int32Array(nodes);
  const runEnd = new Int32Array(nodes);
  runEnd[0] = count;
  let made = 1;
  let depth = 0;
  let levelEnd = 1;
  for (let node = 0; node < nodes; node++) {
    if (node === levelEnd) {
      depth++;
      levelEnd = made;
    }
    firstChild[node] = made;
    let at = runStart[node]!;
    const end = runEnd[node]!;
    for (; at < end && lengthOf(order[at]!) === depth; at++) pieceAt[node] = order[at]!;
    while (at < end) {
      const label = bytes[offsets[order[at]!]! + depth]!;
      labels[made] = label;
      runStart[made] = at;
      while (at < end && bytes[offsets[order[at]!]! + depth] === label) at++;
      runEnd[made++] = at;
    }
  }
  firstChild[nodes] = made;

  return { roots: rootsOf(firstChild, labels), firstChild, labels, pieceAt };

  function lengthOf(piece: number): number {
    return offsets[piece + 1]! - offsets[piece]!;
  }
}

/**
 * A trie that was kept in a file. Throws a `RangeError` unless every walk through it ends and gives numbers below
 * `pieces`: its arrays have one length, children lie behind their node, one after another.
 */
export function byteTrieOf(
  firstChild: Int32Array,
  labels: Uint8Array,
  pieceAt: Int32Array,
  pieces: number,
): ByteTrie {
  const nodes = labels.length;
  if (nodes === 0 || firstChild.length !== nodes + 1 || pieceAt.length !== nodes) {
    throw new RangeError('the trie has arrays of different lengths');
  }
  let before = 1;
  for (let node = 0; node < nodes; node++) {
    const first = firstChild[node]!;
    if (first < before || first <= node || first > nodes) throw new RangeError('the trie leads nowhere');
    if (pieceAt[node]! < -1 || pieceAt[node]! >= pieces) throw new RangeError('the trie names no piece');
    before = first;
  }
  if (firstChild[nodes] !== nodes || firstChild[0] !== 1) throw new RangeError('the trie is cut off');
  return { roots: rootsOf(firstChild, labels), firstChild, labels, pieceAt };
}

function rootsOf(firstChild: Int32Array, labels: Uint8Array): Int32Array {
  const roots = new Int32Array(256);
  for (let node = firstChild[0]!; node < firstChild[1]!; node++) roots[labels[node]!] = node;
  return roots;
}

/** The numbers of the pieces in the order of their bytes; equal pieces in the order given. */
function bytewiseOrder(bytes: Uint8Array, offsets: Int32Array): Int32Array {
  const count = offsets.length - 1;
  const order = Int32Array.from({ length: count }, (_, i) => i);
  let isSorted = true;
  for (let i = 1; i < count && isSorted; i++) isSorted = compare(i - 1, i) <= 0;
  return isSorted ? order : order.sort((a, b) => compare(a, b) || a - b);

  function compare(a: number, b: number): number {
    const endA = offsets[a + 1]!;
    const endB = offsets[b + 1]!;
    let atA = offsets[a]!;
    let atB = offsets[b]!;
    for (; atA < endA && atB < endB; atA++, atB++) {
      if (bytes[atA] !== bytes[atB]) return bytes[atA]! - bytes[atB]!;
    }
    return endA - atA - (endB - atB);
  }
}

/** One node for every prefix that the piece before does not have too, and the root. */
function countNodes(bytes: Uint8Array, offsets: Int32Array, order: Int32Array): number {
  let nodes = 1;
  for (let i = 0; i < order.length; i++) {
    const start = offsets[order[i]!]!;
    const length = offsets[order[i]! + 1]! - start;
    if (length <= 0) throw new RangeError('a piece is empty');
    let shared = 0;
    if (i > 0) {
      const before = offsets[order[i - 1]!]!;
      const most = Math.min(length, offsets[order[i - 1]! + 1]! - before);
      while (shared < most && bytes[start + shared] === bytes[before + shared]) shared++;
    }
    nodes += length - shared;
  }
  return nodes;
}
