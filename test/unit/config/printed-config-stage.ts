// The set-up that `printed-config.test.ts` and `slow/printed-config.test.ts` share.

export function at(values: unknown, key: string): unknown {
  let value = values;
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
