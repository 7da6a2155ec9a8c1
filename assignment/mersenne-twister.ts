// The 64-bit Mersenne Twister (MT19937-64), seeded with an array. The ring points of an agent are
// its successive outputs. The same key gives the same sequence in every implementation, so all
// agents compute the same ring. Stores to the BigUint64Array wrap modulo 2^64.

// Parameters of the published algorithm: n, m, a, and the masks of the upper 33 and lower 31 bits.
const stateWords = 312;
const middleWord = 156;
const twistMatrix = 0xb5026f5aa96619e9n;
const upperMask = 0xffffffff80000000n;
const lowerMask = 0x7fffffffn;

/**
 * Source: T. Nishimura, "Tables of 64-bit Mersenne Twisters", ACM TOMACS 10 (2000), with the
 * seeding (`init_by_array64`) of the authors' 2004 version.
 */
export class MersenneTwister64 {
  readonly #state: BigUint64Array;
  #position = stateWords;

  /** @param key one or more unsigned 64-bit integers; otherwise a RangeError is thrown */
  constructor(key: readonly bigint[]) {
    if (key.length === 0) throw new RangeError('the key of a Mersenne Twister is empty');
    for (const word of key) {
      if (BigInt.asUintN(64, word) !== word) {
        throw new RangeError(`not an unsigned 64-bit integer: ${word}`);
      }
    }
    this.#state = stateFromKey(key);
  }

  /** The next output: an integer from 0 to 2^64 - 1. */
  next(): bigint {
    if (this.#position === stateWords) {
      twist(this.#state);
      this.#position = 0;
    }
    let word = this.#state[this.#position++]!;
    word ^= (word >> 29n) & 0x5555555555555555n;
    word ^= (word << 17n) & 0x71d67fffeda60000n;
    word ^= (word << 37n) & 0xfff7eee000000000n;
    return word ^ (word >> 43n);
  }
}

function stateFromNumber(seed: bigint): BigUint64Array {
  const state = new BigUint64Array(stateWords);
  state[0] = seed;
  for (let i = 1; i < stateWords; i++) {
    state[i] = 6364136223846793005n * mixed(state[i - 1]!) + BigInt(i);
  }
  return state;
}

function stateFromKey(key: readonly bigint[]): BigUint64Array {
  const state = stateFromNumber(19650218n);
  let i = 1;
  // Both loops cycle through words 1 to 311; word 0 is a copy of the last one.
  const advance = (): void => {
    i++;
    if (i < stateWords) return;
    state[0] = state[stateWords - 1]!;
    i = 1;
  };
  for (let step = 0; step < Math.max(stateWords, key.length); step++) {
    const j = step % key.length;
    state[i] = (state[i]! ^ (mixed(state[i - 1]!) * 3935559000370003845n)) + key[j]! + BigInt(j);
    advance();
  }
  for (let step = 1; step < stateWords; step++) {
    state[i] = (state[i]! ^ (mixed(state[i - 1]!) * 2862933555777941757n)) - BigInt(i);
    advance();
  }
  // Makes sure that the state is not zero: the generator would output only zeros.
  state[0] = 1n << 63n;
  return state;
}

function mixed(word: bigint): bigint {
  return word ^ (word >> 62n);
}

/** Computes the next 312 words of state. */
function twist(state: BigUint64Array): void {
  for (let i = 0; i < stateWords; i++) {
    const joined = (state[i]! & upperMask) | (state[(i + 1) % stateWords]! & lowerMask);
    const odd = (joined & 1n) === 1n ? twistMatrix : 0n;
    state[i] = state[(i + middleWord) % stateWords]! ^ (joined >> 1n) ^ odd;
  }
}
