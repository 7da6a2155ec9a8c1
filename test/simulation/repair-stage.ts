// The setup shared by `repair.test.ts` and `slow/repair.test.ts`.

export const ids = ['a1', 'a2', 'a3'] as const;
export const others = (id: string) => ({ awaits: ids.filter((one) => one !== id) });
