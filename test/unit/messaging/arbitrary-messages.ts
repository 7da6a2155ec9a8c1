// Generates random valid messages of every type for the properties of the codec and the validator.
// The record is typed by message type, so a new type without a generator does not compile.

import fc from 'fast-check';
import type {
  Envelope,
  Message,
  MessageType,
  PageRow,
  RowEvent,
} from '../../../agent/core/protocol/messages.ts';

const id = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9_.-]{1,64}$/),
  fc.constantFrom('__proto__', 'toString', 'constructor', 'ä-ü', '代理'),
);
const inc = fc.nat(2_000_000_000_000);
const whole = fc.maxSafeNat();
const host = fc.string({ minLength: 1, maxLength: 300 });
const key = fc
  .tuple(fc.constantFrom('h', 's', 'h.', 's:8443'), fc.string({ maxLength: 40 }))
  .map(([start, path]) => `${start}/${path}`);
const url = fc.oneof(fc.webUrl(), fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }));
const address = fc.nat(65_535).map((port) => `tcp://10.0.0.5:${port}`);
const capacity = fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1000, noNaN: true }));
const durationMs = fc.double({ min: 0, max: 1e12, noNaN: true }).map((ms) => Math.abs(ms));
const word = fc.string({ maxLength: 100 });
const flag = fc.boolean();
const end = fc.record({ id, inc });
const ip = fc.oneof(fc.ipV4(), fc.ipV6());
const integer = fc.maxSafeInteger();
const epoch = fc.oneof(
  fc.constant(''),
  fc.nat().map((n) => `${n}@a1.1700000000000`),
);
const tokens = { epoch, granted: whole, returned: whole };
const news = fc.array(
  fc.record({ id, inc, capacity, address, counter: whole, joined: flag, direct: flag }),
  { maxLength: 40 },
);
const jsonValue = fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.parse(JSON.stringify(value)));

const pageRow: fc.Arbitrary<PageRow> = fc.record(
  {
    status: fc.option(fc.nat(599)),
    error: fc.option(word),
    contentType: fc.option(word),
    bytes: whole,
    digest: fc.option(word),
    fetchedAt: durationMs,
    durationMs,
    redirectTo: fc.option(url),
    warcFile: word,
    warcOffset: whole,
    canonical: url,
    noindex: flag,
    noarchive: flag,
    etag: word,
    lastModified: word,
    payload: word,
    originalUrl: url,
    originalAt: whole,
    unchanged: flag,
  },
  {
    requiredKeys: [
      ...['status', 'error', 'contentType', 'bytes', 'digest', 'fetchedAt', 'durationMs'],
      'redirectTo',
    ] as const,
  },
);

const formerRound = fc.record({ round: fc.nat(), attempts: whole }, { requiredKeys: [] });

const rowEvent: fc.Arbitrary<RowEvent> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('found' as const),
      n: whole,
      key,
      depth: whole,
      attempts: whole,
      fetchUrl: url,
      referrer: url,
      round: fc.nat(),
      sitemap: flag,
    },
    { requiredKeys: ['kind', 'n', 'key', 'depth', 'attempts'] },
  ),
  fc.record(
    {
      kind: fc.constant('done' as const),
      n: whole,
      key,
      state: fc.constantFrom('response', 'failed', 'skipped'),
      attempts: whole,
      round: fc.nat(),
      reason: word,
      page: pageRow,
    },
    { requiredKeys: ['kind', 'n', 'key', 'state', 'attempts'] },
  ),
  fc.record(
    {
      kind: fc.constant('again' as const),
      n: whole,
      key,
      round: fc.nat(),
      attempts: whole,
      former: fc.tuple(pageRow, formerRound).map(([page, rest]) => ({ ...page, ...rest })),
      sitemap: flag,
      hops: fc.nat(100),
      fetchUrl: url,
    },
    { requiredKeys: ['kind', 'n', 'key', 'round', 'attempts'] },
  ),
  fc.record(
    {
      kind: fc.constant('robots' as const),
      n: whole,
      origin: url,
      answer: fc.constantFrom('rules', 'allowAll', 'unreachable', 'redirected'),
      ageMs: durationMs,
      reason: word,
      body: fc.base64String({ maxLength: 2000 }),
      location: url,
      hops: fc.nat(100),
      attempts: fc.nat(100),
      waitMs: durationMs,
      crawlDelayMs: durationMs,
    },
    { requiredKeys: ['kind', 'n', 'origin', 'answer', 'ageMs', 'reason'] },
  ),
);

const orders = fc.array(
  fc.record({
    kind: fc.constantFrom('pause', 'block', 'delay', 'refresh', 'capacity', 'threads'),
    host: fc.string({ maxLength: 300 }),
    value: fc.option(fc.integer({ min: 1, max: 1000 })),
    n: fc.nat(),
    by: id,
  }),
  { maxLength: 40 },
);

const origin = fc.constantFrom(
  'http://a.example',
  'https://b.example:8443',
  'http://[2001:db8::1]',
);

/** A key of the Kademlia overlay, and a number of its bits. */
const prefix = fc.constantFrom('0'.repeat(40), 'f'.repeat(40));
const bits = fc.nat(160);

type Maker<K extends MessageType> = fc.Arbitrary<Extract<Message, { type: K }>>;
type Plain = Exclude<MessageType, 'RELAY'>;

const plain: { readonly [K in Plain]: Maker<K> } = {
  HELLO: fc.record({
    type: fc.constant('HELLO'),
    capacity,
    address,
    fingerprint: fc.string({ maxLength: 3000 }),
    n: whole,
  }),
  PROBE: fc.record({ type: fc.constant('PROBE'), nonce: word, fingerprintHash: word, address }),
  WELCOME: fc.record({
    type: fc.constant('WELCOME'),
    greeting: word,
    members: news,
    gone: fc.array(fc.record({ id, inc, ageMs: durationMs })),
    orders,
  }),
  REFUSED: fc.record({
    type: fc.constant('REFUSED'),
    path: word,
    yours: word,
    theirs: word,
    joined: flag,
  }),
  HEARTBEAT: fc.record({
    type: fc.constant('HEARTBEAT'),
    counter: whole,
    joined: flag,
    capacity,
    address,
    fingerprintHash: word,
    news,
    gone: fc.array(end),
    suspects: fc.array(end),
    idle: flag,
    idleSince: whole,
    viewHash: word,
    gen: whole,
    orders: word,
  }),
  FIND_NODE: fc.record({
    type: fc.constant('FIND_NODE'),
    key: prefix,
    capacity,
    address,
    fingerprintHash: word,
  }),
  FOUND_NODES: fc.record({
    type: fc.constant('FOUND_NODES'),
    key: prefix,
    agents: fc.array(fc.record({ id, inc, capacity, address })),
    capacity,
    address,
    fingerprintHash: word,
  }),
  TREE_TOLD: fc.record({
    type: fc.constant('TREE_TOLD'),
    key: prefix,
    length: bits,
    idle: flag,
    wave: word,
    sum: fc.constant('0123456789abcdef'),
  }),
  TREE_ASK: fc.record({ type: fc.constant('TREE_ASK'), key: prefix, length: bits, wave: word }),
  TREE_DONE: fc.record({ type: fc.constant('TREE_DONE'), key: prefix, length: bits, wave: word }),
  PING: fc.record({
    type: fc.constant('PING'),
    capacity,
    address,
    fingerprintHash: word,
    answer: flag,
  }),
  REGION_ASK: fc.record({ type: fc.constant('REGION_ASK'), key: prefix, length: bits }),
  REGION_TOLD: fc.record({
    type: fc.constant('REGION_TOLD'),
    key: prefix,
    length: bits,
    agents: fc.array(fc.record({ id, inc, capacity, address })),
    empty: fc.constantFrom('', '0', '0110'),
  }),
  LIST: fc.record({
    type: fc.constant('LIST'),
    list: whole,
    part: whole,
    hosts: fc.array(host),
    last: flag,
    leavers: fc.array(id),
  }),
  LIST_ASK: fc.record({ type: fc.constant('LIST_ASK'), leavers: fc.array(id) }),
  LIST_ACK: fc.record({ type: fc.constant('LIST_ACK'), list: whole, part: whole }),
  YIELD: fc.record({
    type: fc.constant('YIELD'),
    list: whole,
    items: fc.array(
      fc.record(
        { host, waitMs: durationMs, withdrawn: flag },
        { requiredKeys: ['host', 'waitMs'] },
      ),
    ),
  }),
  YIELD_ACK: fc.record({
    type: fc.constant('YIELD_ACK'),
    list: whole,
    items: fc.array(fc.record({ host, keep: flag })),
  }),
  URLS: fc.record({
    type: fc.constant('URLS'),
    batch: whole,
    urls: fc.array(
      fc.record(
        { url, fetchUrl: url, depth: whole, referrer: url, attempts: whole, sitemap: flag },
        { requiredKeys: ['url', 'depth'] },
      ),
      { maxLength: 60 },
    ),
  }),
  URLS_ACK: fc.record({
    type: fc.constant('URLS_ACK'),
    batch: whole,
    notMine: fc.array(fc.nat(999)),
  }),
  ROWS: fc.record({
    type: fc.constant('ROWS'),
    number: whole,
    items: fc.array(
      fc.record(
        {
          host,
          from: whole,
          to: whole,
          events: fc.array(rowEvent, { maxLength: 20 }),
          version: whole,
          backoffMs: durationMs,
          delayMs: durationMs,
          busy: whole,
          stale: whole,
          failures: fc.record({
            busyMs: durationMs,
            blocks: whole,
            unconnected: whole,
            unanswered: whole,
          }),
        },
        { requiredKeys: ['host', 'from', 'to', 'events', 'version', 'backoffMs', 'delayMs'] },
      ),
      { maxLength: 10 },
    ),
  }),
  ROWS_ACK: fc.record({
    type: fc.constant('ROWS_ACK'),
    number: whole,
    gen: whole,
    items: fc.array(fc.record({ host, mark: whole })),
  }),
  KNOWN: fc.record({
    ...{ type: fc.constant('KNOWN'), key: whole },
    urls: fc
      .uint8Array({ minLength: 1, maxLength: 800 })
      .map((bytes) => Buffer.from(bytes).toString('base64')),
  }),
  BATCH_REFUSED: fc.record({ type: fc.constant('BATCH_REFUSED'), batch: whole, reason: word }),
  LEAVE: fc.constant({ type: 'LEAVE' }),
  ORDERS: fc.record({ type: fc.constant('ORDERS'), orders }),
  COMPLETE: fc.constant({ type: 'COMPLETE' }),
  SLOT_ASK: fc.record({ type: fc.constant('SLOT_ASK'), address: ip, slot: whole, ask: whole }),
  SLOT_GRANT: fc.record({
    type: fc.constant('SLOT_GRANT'),
    address: ip,
    slot: whole,
    ask: whole,
    forMs: durationMs,
  }),
  SLOT_END: fc.record({
    type: fc.constant('SLOT_END'),
    address: ip,
    slot: whole,
    agoMs: durationMs,
  }),
  PAGES_ASK: fc.record({ type: fc.constant('PAGES_ASK'), ...tokens, wanted: whole }),
  PAGES_GRANT: fc.record({
    ...{ type: fc.constant('PAGES_GRANT'), ...tokens, over: flag },
  }),
  COUNT: fc.record({ type: fc.constant('COUNT'), epoch, round: whole }),
  COUNTED: fc.record({
    ...{ type: fc.constant('COUNTED'), epoch, round: whole, viewHash: word },
    ...{ quiet: flag, pages: whole, base: integer },
  }),
  ROBOTS_ASK: fc.record({
    ...{ type: fc.constant('ROBOTS_ASK'), origin, asker: origin, waitedMs: durationMs },
  }),
  ROBOTS_TOLD: fc.record({
    ...{ type: fc.constant('ROBOTS_TOLD'), origin, asker: origin, reason: word },
    answer: fc.constantFrom('rules', 'absent', 'unreachable', 'redirect', 'refused', 'waiting'),
    body: fc.option(fc.base64String({ maxLength: 2000 })),
    ...{ to: fc.option(origin), hops: fc.nat(100) },
  }),
  CONTROL: fc.record({
    type: fc.constant('CONTROL'),
    request: whole,
    verb: fc.constantFrom('status', 'leave', 'stop', 'pause', 'order', 'explain'),
    args: fc.array(word),
  }),
  CONTROL_ACK: fc.record({
    type: fc.constant('CONTROL_ACK'),
    request: whole,
    ok: flag,
    result: jsonValue,
  }),
};

/** Message types with their own generator: all except RELAY, which wraps one of them. */
export const plainTypes = Object.keys(plain) as Plain[];

function envelopeOf(type: Plain): fc.Arbitrary<Envelope> {
  const message: fc.Arbitrary<Message> = plain[type];
  return fc.record({ from: end, to: end, message });
}

/** Generates an envelope whose message has this type. */
export function anyEnvelope(type: MessageType): fc.Arbitrary<Envelope> {
  if (type !== 'RELAY') return envelopeOf(type);
  const inner = fc.oneof(...plainTypes.map(envelopeOf));
  return fc.record({ from: end, to: end, inner }).map(({ from, to, inner: envelope }) => ({
    from,
    to,
    message: { type: 'RELAY', origin: envelope.from.id, to: envelope.to.id, envelope },
  }));
}
