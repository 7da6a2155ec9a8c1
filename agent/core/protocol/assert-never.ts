// Ends every `switch` over a union: a missing case does not compile, and an impossible value
// throws.

export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
