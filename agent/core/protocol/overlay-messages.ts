// The messages of agents that know only some of the others (docs/OVERLAY.md). Keys of the key space
// are 160 bits in hexadecimal, and `length` is a number of leading bits.

/** What an agent needs to reach another: a MemberCard. `inc` is 0 if it is unknown. */
interface NamedAgent {
  readonly id: string;
  readonly inc: number;
  readonly capacity: number;
  readonly address: string;
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
    }
  | {
      readonly type: 'FOUND_NODES';
      readonly key: string;
      readonly agents: readonly NamedAgent[];
      readonly capacity: number;
      readonly address: string;
      readonly fingerprintHash: string;
    }
  | {
      /** The leader of a subtree of the key space reports that its agents are idle. */
      readonly type: 'IDLE_TOLD';
      readonly key: string;
      readonly length: number;
      readonly idle: boolean;
      /** The wave for which the sum was taken; empty: none. */
      readonly wave: string;
      /** Sum of the digests of the agents and their idle periods: 64 bits in hexadecimal. */
      readonly sum: string;
    }
  | {
      /** Asks the leader of a subtree for the sum of a wave; an empty wave only answers. */
      readonly type: 'IDLE_ASK';
      readonly key: string;
      readonly length: number;
      readonly wave: string;
    }
  | {
      /**
       * Tells the leader of a subtree that the crawl is complete. `wave` is the second of the two
       * waves that show it. The receiver returns the message.
       */
      readonly type: 'IDLE_DONE';
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
      readonly answer: boolean;
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
  'IDLE_TOLD',
  'IDLE_ASK',
  'IDLE_DONE',
]);

export function isOverlayMessage(message: { readonly type: string }): message is OverlayMessage {
  return TYPES.has(message.type);
}
