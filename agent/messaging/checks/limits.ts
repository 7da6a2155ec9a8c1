// The frame format's constants, and the limits of messages and queues. The validator refuses
// messages above these limits. The core must keep its batches and lists within them, because a frame
// that is too large is not sent (see `TransportOptions.onTooLarge`).

/** First two bytes of a frame: `UB`. Distinguishes agents from other programs. */
export const MAGIC = [0x55, 0x42] as const;
/** Incremented when the previous version can no longer read a frame. */
export const WIRE_VERSION = 11;
/** Offsets of the encoding and the checksum, after magic and version. */
export const ENCODING_AT = 3;
export const CHECKSUM_AT = 4;
/** Bytes of magic, version, encoding and checksum. */
export const HEADER_BYTES = 8;

/** Size of a frame, sent or received. 1,000 URLs of the default maximum length compress to much less. */
export const FRAME_BYTES_MAX = 1024 * 1024;
/** Size of a decompressed payload: limits the memory that a small compressed frame can take. */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** Smaller frames are not compressed: it would cost more than it saves. */
export const COMPRESS_OVER_BYTES = 2048;
/**
 * The same for messages about members, which many agents send to many others. Heartbeats of up to a
 * hundred members are smaller. Their compression took a quarter of the processor time of 32 agents
 * that joined at once.
 */
export const COMPRESS_NEWS_OVER_BYTES = 16_384;

/** Nesting of JSON: a RELAY of a WELCOME needs 7, the response to a command may need more. */
export const DEPTH_MAX = 32;
/** Arrays and objects in one message: the largest (a part of a YIELD) has about 2,000. */
export const CONTAINERS_MAX = 20_000;
/** Up to this many `{` and as many `[`, the depth is not checked: parsing them takes about 1 ms. */
export const QUICK_BRACKETS = 2048;

/** Agent identifiers: the config allows 64 characters of up to two UTF-16 units. */
export const ID_CHARS_MAX = 128;
/** Identifiers of an agent in the Kademlia overlay: 8 for each unit of capacity, up to 128. */
export const IDENTIFIERS_MAX = 8192;
/** The longest spelling of an IPv6 address has 45 characters. */
export const IP_CHARS_MAX = 64;
/** DNS allows 253 characters; the rest is a margin. */
export const HOST_CHARS_MAX = 300;
/** Four times the default of `limits.urlLength`. */
export const URL_CHARS_MAX = 8192;
/** An endpoint is a scheme, a host and a port, or the path of a socket file. */
export const ADDRESS_CHARS_MAX = 320;
/** The settings that must agree, as JSON. A scope of some ten thousand patterns fits. */
export const FINGERPRINT_CHARS_MAX = 2 * 1024 * 1024;
/** Digests of up to 512 bits in hexadecimal. */
export const HASH_CHARS_MAX = 128;
/** Reasons and key paths that people read. */
export const REASON_CHARS_MAX = 1000;

/** A robots.txt in base64: at most 500 KiB of a file are read. */
export const ROBOTS_CHARS_MAX = 700_000;
/** A scheme, a host and a port. */
export const ORIGIN_CHARS_MAX = 320;
/** Redirects of one robots.txt: no plausible chain is longer. */
export const HOPS_MAX = 100;

/** URLs of one URLS batch. */
export const URLS_MAX = 1000;
/** Hashes of 8,000 known URLs in base64: limits the filter entries that one message can use. */
export const KNOWN_CHARS_MAX = 86_000;
/** Hosts of one part of a LIST, and items of one YIELD or YIELD_ACK. */
export const HOSTS_MAX = 2000;
/** Events of one ROWS, over all its hosts. */
export const ROW_EVENTS_MAX = 2000;
/** Members in one message. This also limits the sockets that an agent opens. */
export const MEMBERS_MAX = 1024;
/** Tombstones in one message. They outlive the members, so there may be many more of them. */
export const GONE_MAX = 10_000;
/** Directives in one message: twice what an agent keeps, since several may be given at once. */
export const DIRECTIVES_MAX = 4000;
/** Directives are numbered consecutively. A forged number must not outrank all later directives. */
export const DIRECTIVE_NUMBER_MAX = 2 ** 40;
/** Delay that a directive may set for a host: a day. */
export const DELAY_MS_MAX = 24 * 3600 * 1000;
/** Threads that a directive may set; as in the config. */
export const THREADS_MAX = 4096;
/** Twice the characters that the config allows. */
export const CRAWL_CHARS_MAX = 400;
/** Arguments of one command. */
export const ARGS_MAX = 1000;
/** As in the config. It limits the ring points that a peer can make others compute. */
export const CAPACITY_MAX = 1000;
/**
 * Default maximum of incarnations, which are about Unix milliseconds. Integers are exact up to
 * 2^53, so `inc + 1` still is.
 */
export const INCARNATION_MAX = 2 ** 52;

/** Control frames that wait for one peer: some seconds of acknowledgements to a busy peer. */
export const CONTROL_FRAMES_MAX = 512;
/** The same in bytes, since a WELCOME or a YIELD may be large. */
export const CONTROL_BYTES_MAX = 4 * 1024 * 1024;
/** Bulk frames that wait for one peer. The rest stays in SQLite and is sent later. */
export const BULK_BYTES_MAX = 256 * 1024;
/** Peers with a socket. libzmq allows 1,023 sockets a process, which leaves some for other uses. */
export const PEERS_MAX = 1000;

/** Commands that wait for the agent; further ones are refused as `busy`. */
export const CONTROL_PENDING_MAX = 64;
/** Deadline for the agent's response to a command. */
export const CONTROL_REPLY_MAX_MS = 60_000;
/** Responses that wait to be written to command-line tools. */
export const REPLIES_MAX = 256;
/** Connections whose sender is remembered: several per member, and many command-line tools. */
export const SENDERS_MAX = 8192;
