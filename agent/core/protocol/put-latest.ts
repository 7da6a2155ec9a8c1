// For what is remembered of agents that come and go: their identifiers are without number.

/** More than may be members: of the config 1,000, and beside it `bounds.unconfigured`. */
export const IDENTIFIERS_MAX = 2000;

/** Puts it behind all others in the map, and drops what has stood there longest beyond `max`. */
export function putLatest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
