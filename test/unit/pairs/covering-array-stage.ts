// The set-up that `covering-array.test.ts` and `slow/covering-array.test.ts` share.

export const factors = {
  a: ['1', '2', '3'],
  b: ['x', 'y'],
  c: ['on', 'off'],
  d: ['p', 'q', 'r', 's'],
};
export const excluded = [
  { a: '1', b: 'x' },
  { c: 'off', d: 's' },
];
