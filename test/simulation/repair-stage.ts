// What the tests in `repair.test.ts` and in `slow/repair.test.ts` are run on.

export const ids = ['a1', 'a2', 'a3'] as const;
export const others = (id: string) => ({ awaits: ids.filter((one) => one !== id) });
