// Bounds maps whose keys come from outside. Agents join and leave, so the number of identifiers
// that one process sees has no limit.

/** More than can be members: 1,000 of the config, and `bounds.unconfigured` others. */
export const IDENTIFIERS_MAX = 2000;

/** Sets the entry as the newest of the map, and drops the oldest ones beyond `max`. */
export function putLatest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
