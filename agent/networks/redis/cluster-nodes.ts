// Reads what a node of a Redis Cluster says of other nodes: in the error MOVED, and in the answer to
// CLUSTER SLOTS. A node that does not know its own name leaves the host out; it is then the host by
// which the node was reached.

export interface ClusterNode {
  readonly host: string;
  readonly port: number;
}

/** Redis recommends at most 1000. */
const nodesMax = 1000;

/**
 * @param text - of an error reply, as in `MOVED 3999 127.0.0.1:6381`
 * @returns null if it is another error
 */
export function movedTo(text: string, host: string): ClusterNode | null {
  const found = /^MOVED \d+ (\S*):(\d+)$/.exec(text);
  return found === null ? null : nodeOf(found[1], Number(found[2]), host);
}

/** @param reply - to CLUSTER SLOTS: for each range its first and last slot, and its nodes */
export function nodesOf(reply: unknown, host: string): ClusterNode[] {
  const ranges = Array.isArray(reply) ? reply : [];
  const nodes = new Map<string, ClusterNode>();
  for (const range of ranges) {
    for (const entry of Array.isArray(range) ? range.slice(2) : []) {
      const [name, port] = Array.isArray(entry) ? entry : [];
      const node = nodeOf(name, port, host);
      if (node !== null && nodes.size < nodesMax) nodes.set(`${node.host} ${node.port}`, node);
    }
  }
  return [...nodes.values()];
}

function nodeOf(name: unknown, port: unknown, host: string): ClusterNode | null {
  if (!Number.isInteger(port) || Number(port) < 1 || Number(port) > 65_535) return null;
  const isKnown = typeof name === 'string' && name !== '' && name !== '?';
  return { host: isKnown ? name : host, port: Number(port) };
}
