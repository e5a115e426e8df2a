// @ts-check
// Raw deflate (RFC 1951), for browsers that have no DecompressionStream. Canonical Huffman codes are decoded bit
// by bit from counts per length: 30 MB/s, which is enough for what is a fallback.

/** @typedef {{counts: Uint16Array, symbols: Uint16Array}} Code of canonical Huffman codes */

const lengthBase = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const lengthExtra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

const distanceBase = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577];

const distanceExtra = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const codeLengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/**
 * inflateHere unpacks raw deflate data into size bytes.
 * @param {Uint8Array} input
 * @param {number} size
 */
export function inflateHere(input, size) {
  const output = new Uint8Array(size);
  let at = 0, held = 0, buffer = 0, written = 0;

  /** @param {number} count */
  function bits(count) {
    while (held < count) {
      buffer |= input[at++] << held;
      held += 8;
    }
    const value = buffer & ((1 << count) - 1);
    buffer >>>= count;
    held -= count;
    return value;
  }

  /** @param {Code} code */
  function symbol(code) {
    for (let length = 1, value = 0, first = 0, index = 0; length <= 15; length++) {
      value |= bits(1);
      const count = code.counts[length];
      if (value - count < first) return code.symbols[index + value - first];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Error("the data of this report is damaged");
  }

  function stored() {
    buffer = held = 0;
    const length = input[at] | (input[at + 1] << 8);
    output.set(input.subarray(at + 4, at + 4 + length), written);
    at += 4 + length;
    written += length;
  }

  /**
   * @param {Code} literals
   * @param {Code} distances
   */
  function compressed(literals, distances) {
    for (;;) {
      const s = symbol(literals);
      if (s === 256) return;
      if (s < 256) {
        output[written++] = s;
        continue;
      }
      const length = lengthBase[s - 257] + bits(lengthExtra[s - 257]);
      const d = symbol(distances);
      const distance = distanceBase[d] + bits(distanceExtra[d]);
      for (let i = 0; i < length; i++, written++) output[written] = output[written - distance];
    }
  }

  function dynamicCodes() {
    const literals = bits(5) + 257, distances = bits(5) + 1, codes = bits(4) + 4;
    const lengths = new Uint8Array(19);
    for (let i = 0; i < codes; i++) lengths[codeLengthOrder[i]] = bits(3);
    const code = huffman(lengths);
    const all = new Uint8Array(literals + distances);
    for (let i = 0; i < all.length;) {
      const s = symbol(code);
      if (s < 16) all[i++] = s;
      else if (s === 16) i = repeat(all, i, all[i - 1], 3 + bits(2));
      else i = repeat(all, i, 0, s === 17 ? 3 + bits(3) : 11 + bits(7));
    }
    return [huffman(all.subarray(0, literals)), huffman(all.subarray(literals))];
  }

  for (let last = false; !last;) {
    last = bits(1) === 1;
    const kind = bits(2);
    if (kind === 0) stored();
    else {
      const [literals, distances] = kind === 1 ? fixedCodes() : dynamicCodes();
      compressed(literals, distances);
    }
  }
  return output;
}

/**
 * @param {Uint8Array} array
 * @param {number} from
 * @param {number} value
 * @param {number} count
 */
function repeat(array, from, value, count) {
  array.fill(value, from, from + count);
  return from + count;
}

/**
 * huffman turns code lengths per symbol into counts per length and symbols in order of their codes.
 * @param {Uint8Array} lengths
 */
function huffman(lengths) {
  const counts = new Uint16Array(16), symbols = new Uint16Array(lengths.length), next = new Uint16Array(16);
  for (const l of lengths) counts[l]++;
  counts[0] = 0;
  for (let l = 1; l < 15; l++) next[l + 1] = next[l] + counts[l];
  lengths.forEach((l, s) => {
    if (l) symbols[next[l]++] = s;
  });
  return {counts, symbols};
}

function fixedCodes() {
  const lengths = new Uint8Array(288).fill(8);
  lengths.fill(9, 144, 256).fill(7, 256, 280);
  return [huffman(lengths), huffman(new Uint8Array(30).fill(5))];
}
