// Computes which bits are set in more than half of many numbers. The counters of the 32 bits are
// stored as planes: plane k holds binary digit k of all counters, so a full adder of three planes
// takes some five operations for all bits. Numbers are added in groups of eight, and only one carry
// of a group goes beyond the third plane. This is some fifty times faster than 32 additions for
// each number, which would be most of the time of parsing.

/** Binary digits of a counter: enough for 2^31 numbers. */
const PLANES = 31;

/**
 * @param numbers - each is read as 32 bits
 * @param length - how many of them to read, from the first
 * @returns the bits that are set in more than half of the numbers, as an unsigned number
 */
export function majorityBits(numbers: Int32Array, length = numbers.length): number {
  const planes = new Int32Array(PLANES);
  const inEights = length & ~7;
  let [ones, twos, fours] = [0, 0, 0];
  for (let at = 0; at < inEights; at += 8) {
    let a = numbers[at]!;
    let b = numbers[at + 1]!;
    const twosA = carryOf(ones, a, b);
    ones ^= a ^ b;
    a = numbers[at + 2]!;
    b = numbers[at + 3]!;
    const twosB = carryOf(ones, a, b);
    ones ^= a ^ b;
    const foursA = carryOf(twos, twosA, twosB);
    twos ^= twosA ^ twosB;
    a = numbers[at + 4]!;
    b = numbers[at + 5]!;
    const twosC = carryOf(ones, a, b);
    ones ^= a ^ b;
    a = numbers[at + 6]!;
    b = numbers[at + 7]!;
    const twosD = carryOf(ones, a, b);
    ones ^= a ^ b;
    const foursB = carryOf(twos, twosC, twosD);
    twos ^= twosC ^ twosD;
    addTo(planes, 3, carryOf(fours, foursA, foursB));
    fours ^= foursA ^ foursB;
  }
  planes[0] = ones;
  planes[1] = twos;
  planes[2] = fours;
  for (let at = inEights; at < length; at++) addTo(planes, 0, numbers[at]!);
  return aboveHalf(planes, length);
}

/** The carry of a full adder, whose sum is `a ^ b ^ c`. */
function carryOf(a: number, b: number, c: number): number {
  return (a & b) | ((a ^ b) & c);
}

function addTo(planes: Int32Array, digit: number, bits: number): void {
  let carry = bits;
  for (let k = digit; carry !== 0; k++) {
    const plane = planes[k]!;
    planes[k] = plane ^ carry;
    carry &= plane;
  }
}

function aboveHalf(planes: Int32Array, total: number): number {
  let bits = 0;
  for (let bit = 0; bit < 32; bit++) {
    let count = 0;
    for (let k = 0; k < PLANES; k++) count |= ((planes[k]! >>> bit) & 1) << k;
    if (2 * count > total) bits |= 1 << bit;
  }
  return bits >>> 0;
}
