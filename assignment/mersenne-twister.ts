// The 64-bit Mersenne Twister, MT19937-64, seeded by an array. The points of an agent on the ring
// are its successive outputs, so any implementation of the published algorithm places the agents
// alike. It is not a source of chance: the same key gives the same sequence everywhere. Words are
// bigints in a BigUint64Array, whose stores wrap modulo 2^64 by themselves.

/** Words of state. */
const stateWords = 312;
/** Distance of the word that is mixed in. */
const middleWord = 156;
const twistMatrix = 0xb5026f5aa96619e9n;
/** A state word is mixed from the upper 33 bits of one and the lower 31 bits of the next. */
const upperMask = 0xffffffff80000000n;
const lowerMask = 0x7fffffffn;

/**
 * Generator of unsigned 64-bit integers.
 * Source: T. Nishimura, "Tables of 64-bit Mersenne Twisters", ACM TOMACS 10 (2000), with the
 * seeding (`init_by_array64`) of the authors' 2004 version.
 */
export class MersenneTwister64 {
  readonly #state: BigUint64Array;
  #position = stateWords;

  /** @param key one or more unsigned 64-bit words; a RangeError for none or for a wider one. */
  constructor(key: readonly bigint[]) {
    if (key.length === 0)
      throw new RangeError('a Mersenne Twister needs a key of one word or more');
    for (const word of key) {
      if (BigInt.asUintN(64, word) !== word) throw new RangeError(`not an unsigned word: ${word}`);
    }
    this.#state = stateFromKey(key);
  }

  /** The next output, 0 <= value < 2^64. */
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
  // Both rounds go through words 1 to 311 in a circle; word 0 follows the last one.
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
  // A state of zeros would stay so for ever.
  state[0] = 1n << 63n;
  return state;
}

function mixed(word: bigint): bigint {
  return word ^ (word >> 62n);
}

/** Replaces the whole state by the next 312 words. */
function twist(state: BigUint64Array): void {
  for (let i = 0; i < stateWords; i++) {
    const joined = (state[i]! & upperMask) | (state[(i + 1) % stateWords]! & lowerMask);
    const odd = (joined & 1n) === 1n ? twistMatrix : 0n;
    state[i] = state[(i + middleWord) % stateWords]! ^ (joined >> 1n) ^ odd;
  }
}
