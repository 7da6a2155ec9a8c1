// The end of every switch over a union: a case that was forgotten does not compile, and a value
// that should not exist stops the process rather than being passed over.

export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
