// The messages of agents that know only some of the others (docs/OVERLAY.md). Keys of the key space
// are 160 bits in hexadecimal, and `length` is a number of leading bits.

/** What an agent needs to reach another: a MemberCard. `inc` is 0 if it is unknown. */
interface NamedAgent {
  readonly id: string;
  readonly inc: number;
  readonly capacity: number;
  readonly address: string;
}

/** What an agent says of its pages, for a census of agents that need not know each other. */
export interface PagesState {
  /** As in COUNTED. */
  readonly epoch: string;
  readonly base: number;
  readonly pages: number;
  readonly quiet: boolean;
  /** Number of changes of its view and its hosts' owners. */
  readonly changes: number;
  /** The round of the crawl. */
  readonly round: number;
}

/** The idle period of an agent in which all agents were idle at once (docs/OVERLAY.md, rule 8). */
export interface Covered {
  /** The number of the agent's heartbeat with which the period began. */
  readonly idleSince: number;
  /** The second of the two waves that show it. */
  readonly wave: string;
}

export type OverlayMessage =
  | {
      /** Asks a member whom it knows in a region of the key space (docs/OVERLAY.md). */
      readonly type: 'REGION_ASK';
      /** 160 bits in hexadecimal; the first `length` bits are the region's prefix. */
      readonly key: string;
      readonly length: number;
    }
  | {
      /** Asks for the agents that the receiver knows nearest to a key (docs/OVERLAY.md). */
      readonly type: 'FIND_NODE';
      readonly key: string;
      readonly capacity: number;
      readonly address: string;
      readonly fingerprintHash: string;
      /** Whether the sender has joined; absent: no. */
      readonly joined?: boolean;
      /** The digest of the sender's directives. */
      readonly orders?: string;
    }
  | {
      readonly type: 'FOUND_NODES';
      readonly key: string;
      readonly agents: readonly NamedAgent[];
      readonly capacity: number;
      readonly address: string;
      readonly fingerprintHash: string;
      /** Whether the sender has joined; absent: no. */
      readonly joined?: boolean;
      /** Whether the sender leaves, and owns no host any more; absent: no. */
      readonly leaving?: boolean;
      readonly orders?: string;
    }
  | {
      /** The leader of a subtree of the key space reports whether its agents are idle. */
      readonly type: 'TREE_TOLD';
      readonly key: string;
      readonly length: number;
      readonly idle: boolean;
      /** The wave for which the sum was taken; empty: none. */
      readonly wave: string;
      /** Sum of the digests of the agents and what the wave asks: 64 bits in hexadecimal. */
      readonly sum: string;
      /** The sums of PagesState; absent: 0. */
      readonly base?: number;
      readonly pages?: number;
    }
  | {
      /** Asks the leader of a subtree for the sum of a wave; an empty wave only answers. */
      readonly type: 'TREE_ASK';
      readonly key: string;
      readonly length: number;
      readonly wave: string;
    }
  | {
      /**
       * Tells the leader of a subtree that the crawl is complete. `wave` is the second of the two
       * waves that show it. The receiver returns the message.
       */
      readonly type: 'TREE_DONE';
      readonly key: string;
      readonly length: number;
      readonly wave: string;
    }
  | {
      /** Asks an agent whether it is running, or answers that this one is (docs/OVERLAY.md). */
      readonly type: 'PING';
      readonly capacity: number;
      readonly address: string;
      readonly fingerprintHash: string;
      /** Whether the sender has joined; absent: no. */
      readonly joined?: boolean;
      readonly answer: boolean;
      readonly orders?: string;
    }
  | {
      readonly type: 'REGION_TOLD';
      readonly key: string;
      readonly length: number;
      readonly agents: readonly NamedAgent[];
      /** For each bit of the prefix, whether the sender knows nobody beside it: characters 0 and 1. */
      readonly empty: string;
    };

const TYPES: ReadonlySet<string> = new Set<OverlayMessage['type']>([
  'REGION_ASK',
  'REGION_TOLD',
  'PING',
  'FIND_NODE',
  'FOUND_NODES',
  'TREE_TOLD',
  'TREE_ASK',
  'TREE_DONE',
]);

export function isOverlayMessage(message: { readonly type: string }): message is OverlayMessage {
  return TYPES.has(message.type);
}
