// Every bound of the wire in one place, each with its reason. The validator refuses what exceeds
// them, the lanes and the transport keep to them. What sends (the core's batches and lists) has to
// stay within them too: a frame that does not is never sent (see `Transport.onTooLarge`).

/** First two bytes of a frame: `UB`. Tells a peer of this program from any other talker. */
export const MAGIC = [0x55, 0x42] as const;
/** Raised when a frame can no longer be understood by the version before. */
export const WIRE_VERSION = 10;
/** Where the encoding and the checksum lie, behind magic and version. */
export const ENCODING_AT = 3;
export const CHECKSUM_AT = 4;
/** Magic, version, encoding, checksum. */
export const HEADER_BYTES = 8;

/** One frame as it travels: 1,000 URLs of the default maximum compress well below it. */
export const FRAME_BYTES_MAX = 1024 * 1024;
/** One frame unpacked: caps what a small compressed frame may cost in memory. */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** Shorter payloads travel as they are: below this, packing costs more than it saves. */
export const COMPRESS_OVER_BYTES = 2048;

/** Deepest nesting: a RELAY of a WELCOME needs 7, an answer to a command may need more. */
export const DEPTH_MAX = 32;
/** Arrays and objects in one message: the largest (a part of a YIELD) has about 2,000. */
export const CONTAINERS_MAX = 20_000;

/** Brackets of a kind let through uncounted for depth: parsing so many costs about 1 ms. */
export const QUICK_BRACKETS = 2048;

/** Agent identifiers: the config allows 64 characters, each up to two UTF-16 units. */
export const ID_CHARS_MAX = 128;
/** The longest spelling of an IPv6 address has 45. */
export const IP_CHARS_MAX = 64;
/** DNS allows 253; bracketed IPv6 and a generous rest. */
export const HOST_CHARS_MAX = 300;
/** Four times the default `limits.urlLength`. */
export const URL_CHARS_MAX = 8192;
/** An endpoint is a scheme, a host and a port, or the path of a socket file. */
export const ADDRESS_CHARS_MAX = 320;
/** The settings that must agree, as JSON: a scope of some ten thousand patterns fits. */
export const FINGERPRINT_CHARS_MAX = 2 * 1024 * 1024;
/** Hex digests of up to 512 bits. */
export const HASH_CHARS_MAX = 128;
/** Reasons and setting paths, read by people. */
export const REASON_CHARS_MAX = 1000;

/** A robots.txt of 500 KiB, as much as is read, in base64; so large, one goes alone. */
export const ROBOTS_CHARS_MAX = 700_000;
/** A scheme, a host and a port. */
export const ORIGIN_CHARS_MAX = 320;
/** Redirects of one robots.txt: no believable chain is longer. */
export const HOPS_MAX = 100;

/** URLs of one URLS batch. */
export const URLS_MAX = 1000;
/** Hashes of 8,000 known URLs in base64: so many entries of a filter one peer may use up at a time. */
export const KNOWN_CHARS_MAX = 86_000;
/** Hosts of one part of a LIST, and items of one YIELD or YIELD_ACK. */
export const HOSTS_MAX = 2000;
/** Events of one ROWS, over all its hosts. */
export const ROW_EVENTS_MAX = 2000;
/** Members named in one message; also bounds the sockets that an agent opens. */
export const MEMBERS_MAX = 1024;
/** Identifiers named as gone: they outlive the members, so there may be many more of them. */
export const GONE_MAX = 10_000;
/** Orders of one message: twice what an agent takes, since several may be given at once. */
export const ORDERS_MAX = 4000;
/** Orders are numbered one by one; what is beyond belief must not outrank all that follow. */
export const ORDER_NUMBER_MAX = 2 ** 40;
/** A politeness delay ordered for a host: a day. */
export const DELAY_MS_MAX = 24 * 3600 * 1000;
/** Twice the characters that the config allows. */
export const CRAWL_CHARS_MAX = 400;
/** Arguments of one command. */
export const ARGS_MAX = 1000;
/** As in the config. Points on the ring grow with it: no peer may make others compute millions. */
export const CAPACITY_MAX = 1000;
/**
 * Highest incarnation believed where the caller gives no ceiling of its own. Incarnations are about
 * Unix milliseconds; 2^52 leaves as much room again above it, so that `inc + 1` stays exact.
 */
export const INCARNATION_MAX = 2 ** 52;

/** Control frames waiting for one peer: some seconds of acknowledgements to a busy one. */
export const CONTROL_FRAMES_MAX = 512;
/** The same in bytes, since a WELCOME or a YIELD may be large. */
export const CONTROL_BYTES_MAX = 4 * 1024 * 1024;
/** Bulk waiting for one peer; the rest stays in SQLite and comes again. */
export const BULK_BYTES_MAX = 256 * 1024;
/** Peers with a socket. libzmq allows 1,023 sockets a process: the ROUTER and some slack remain. */
export const PEERS_MAX = 1000;

/** Commands that wait for the agent's answer at once; one more is told `busy`. */
export const CONTROL_PENDING_MAX = 64;
/** A command unanswered for so long is answered by the transport and forgotten. */
export const CONTROL_REPLY_MAX_MS = 60_000;
/** Answers waiting to be written to command-line tools. */
export const REPLIES_MAX = 256;
/** Connections whose sender is remembered: several per member, and many command-line tools. */
export const SENDERS_MAX = 8192;
