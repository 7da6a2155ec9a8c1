// What the tests in `robots-elsewhere.test.ts` and in `slow/robots-elsewhere.test.ts` are run on.

/** Second byte of the addresses: no other test's web has it. */
export const addressNet = 49;
