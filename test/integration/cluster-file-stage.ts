// What the tests in `cluster-file.test.ts` and in `slow/cluster-file.test.ts` are run on.

/** Second byte of loopback addresses that no other test's web uses. */
export const net = 46;
