// Checks that a parsed frame is a valid message: every type, field and limit. The compiler checks
// that the shapes have the same fields as the types in `core/protocol/messages.ts`. A schema library
// would be too slow, because every link to a host of another agent passes through here.

import type {
  AgentId,
  ControlVerb,
  Directive,
  Envelope,
  HostFailures,
  Incarnation,
  MemberCard,
  MessageType,
  News,
  PageRow,
  PreviousPage,
  RowEvent,
  RowsItem,
  UrlItem,
  YieldItem,
} from '../../core/protocol/messages.ts';
import type { PagesState } from '../../core/protocol/overlay-messages.ts';
import {
  ARGS_MAX,
  CRAWL_CHARS_MAX,
  DELAY_MS_MAX,
  DEPTH_MAX,
  DIRECTIVE_NUMBER_MAX,
  DIRECTIVES_MAX,
  FINGERPRINT_CHARS_MAX,
  GONE_MAX,
  HASH_CHARS_MAX,
  HOPS_MAX,
  HOST_CHARS_MAX,
  HOSTS_MAX,
  ID_CHARS_MAX,
  INCARNATION_MAX,
  IP_CHARS_MAX,
  KNOWN_CHARS_MAX,
  MEMBERS_MAX,
  ORIGIN_CHARS_MAX,
  REASON_CHARS_MAX,
  ROBOTS_CHARS_MAX,
  ROW_EVENTS_MAX,
  THREADS_MAX,
  URL_CHARS_MAX,
  URLS_MAX,
} from './limits.ts';
import {
  address,
  type Body,
  capacity,
  card,
  directedCapacity,
  hash,
  id,
  message,
} from './member-fields.ts';
import { covers, overlayMessages, regions } from './overlay-checks.ts';
import {
  type Check,
  duration,
  type Fields,
  flag,
  incarnation,
  integer,
  isRecord,
  list,
  natural,
  nullable,
  oneOf,
  optional,
  shape,
  text,
  textLike,
} from './shape.ts';

/** The sender or receiver of an envelope. */
export interface End {
  readonly id: AgentId;
  readonly inc: Incarnation;
}

/** A sender whose incarnation is too high, and the greeting of its HELLO. */
export interface Ahead extends End {
  readonly greeting?: string;
}

/** Why an envelope is invalid, and the parts of it that are readable. */
export interface Rejected {
  readonly ok: false;
  readonly detail: string;
  readonly from?: End;
  readonly to?: End;
  /**
   * Number of a URLS batch whose ends are valid. The receiver must send BATCH_REFUSED, or the batch
   * is resent for ever.
   */
  readonly batch?: number;
  /** The sender, if its incarnation is above the highest plausible one. */
  readonly ahead?: Ahead;
}

export type Validated = { readonly ok: true; readonly envelope: Envelope } | Rejected;

const host = text(HOST_CHARS_MAX, 1);
const url = text(URL_CHARS_MAX, 1);
/** A stored key: scheme, port and path, without the host. */
const key = textLike(/^[hs]\.?(?::\d{1,5})?\//, 'the key of a URL', URL_CHARS_MAX);
const origin = textLike(/^https?:\/\/[^\s/?#]+$/, 'an origin', ORIGIN_CHARS_MAX);
const whole = natural();
const ip = text(IP_CHARS_MAX, 1);
/** Empty, or a number, an agent and its incarnation. */
const epoch = textLike(/^(?:\d{1,15}@\S+)?$/u, 'an epoch', ID_CHARS_MAX + HASH_CHARS_MAX, 0);
const tokens = { epoch, granted: whole, returned: whole };

const end = shape<End>({ id, inc: incarnation });
const news = list(
  shape<News>({ ...card, counter: whole, joined: flag, direct: flag }),
  MEMBERS_MAX,
);

const verbs: Readonly<Record<ControlVerb, true>> = {
  ...{ status: true, leave: true, stop: true, seed: true, explain: true, order: true },
  ...{ pause: true, resume: true, block: true, delay: true },
  ...{ drain: true, undrain: true, capacity: true, threads: true },
};

const round = natural(DIRECTIVE_NUMBER_MAX);
const anyNumber: Check = (value) => (typeof value === 'number' ? null : ': not a number');
const directive = shape<Directive>({
  kind: oneOf(['pause', 'block', 'delay', 'refresh', 'drain', 'capacity', 'threads']),
  host: text(HOST_CHARS_MAX),
  value: nullable(anyNumber),
  n: natural(DIRECTIVE_NUMBER_MAX),
  by: id,
});
const delayMs = natural(DELAY_MS_MAX);
const valueChecks: Readonly<Record<Directive['kind'], Check>> = {
  ...{ pause: delayMs, block: delayMs, delay: delayMs, refresh: round },
  threads: natural(THREADS_MAX, 1),
  capacity: directedCapacity,
  drain: natural(1, 1),
};
const order: Check = (value, inc) => {
  const wrong = directive(value, inc);
  if (wrong !== null) return wrong;
  const { kind, value: set } = value as Directive;
  const wrongValue = nullable(valueChecks[kind])(set, inc);
  return wrongValue === null ? null : `.value${wrongValue}`;
};
const orders = list(order, DIRECTIVES_MAX);

type Found = Extract<RowEvent, { kind: 'found' }>;
type Done = Extract<RowEvent, { kind: 'done' }>;

const found = shape<Found>({
  kind: oneOf(['found']),
  n: whole,
  key,
  depth: whole,
  attempts: whole,
  fetchUrl: optional(url),
  referrer: optional(url),
  round: optional(round),
  sitemap: optional(flag),
});

const pageFields: Fields<PageRow> = {
  status: nullable(whole),
  error: nullable(text(REASON_CHARS_MAX)),
  contentType: nullable(text(URL_CHARS_MAX)),
  bytes: whole,
  digest: nullable(hash),
  fetchedAt: duration,
  durationMs: duration,
  redirectTo: nullable(text(4 * URL_CHARS_MAX)),
  warcFile: optional(text(REASON_CHARS_MAX)),
  warcOffset: optional(whole),
  canonical: optional(url),
  noindex: optional(flag),
  noarchive: optional(flag),
  etag: optional(text(REASON_CHARS_MAX)),
  lastModified: optional(text(REASON_CHARS_MAX)),
  payload: optional(hash),
  originalUrl: optional(url),
  originalAt: optional(whole),
  unchanged: optional(flag),
};
const page = shape<PageRow>(pageFields);
const previousPage = shape<PreviousPage>({
  ...pageFields,
  round: optional(round),
  attempts: optional(whole),
});

const done = shape<Done>({
  kind: oneOf(['done']),
  n: whole,
  key,
  state: oneOf(['response', 'failed', 'skipped']),
  attempts: whole,
  round: optional(round),
  reason: optional(text(REASON_CHARS_MAX)),
  page: optional(page),
});

const again = shape<Extract<RowEvent, { kind: 'again' }>>({
  kind: oneOf(['again']),
  n: whole,
  key,
  round,
  attempts: whole,
  depth: optional(whole),
  former: optional(previousPage),
  sitemap: optional(flag),
  hops: optional(natural(HOPS_MAX)),
  fetchUrl: optional(url),
});

const robots = shape<Extract<RowEvent, { kind: 'robots' }>>({
  kind: oneOf(['robots']),
  n: whole,
  origin: url,
  answer: oneOf(['rules', 'allowAll', 'unreachable', 'redirected']),
  ageMs: duration,
  reason: text(4 * URL_CHARS_MAX),
  body: optional(text(ROBOTS_CHARS_MAX)),
  location: optional(text(4 * URL_CHARS_MAX)),
  hops: optional(natural(HOPS_MAX)),
  attempts: optional(whole),
  failingMs: optional(duration),
  waitMs: optional(duration),
  crawlDelayMs: optional(duration),
});

const rowEvents = new Map<unknown, Check>(Object.entries({ found, again, done, robots }));

const rowEvent: Check = (value, incarnationMax) => {
  const kind = isRecord(value) ? value.kind : undefined;
  return (rowEvents.get(kind) ?? done)(value, incarnationMax);
};

const messages: { readonly [K in MessageType]: Check } = {
  HELLO: message<'HELLO'>({
    capacity,
    address,
    fingerprint: text(FINGERPRINT_CHARS_MAX),
    n: whole,
    proof: optional(hash),
    greeting: optional(hash),
  }),
  PROBE: message<'PROBE'>({ nonce: hash, fingerprintHash: hash, address }),
  WELCOME: message<'WELCOME'>({
    greeting: hash,
    members: news,
    gone: list(shape<End & { ageMs: number }>({ id, inc: incarnation, ageMs: duration }), GONE_MAX),
    orders,
  }),
  REFUSED: message<'REFUSED'>({
    greeting: optional(hash),
    path: text(REASON_CHARS_MAX),
    yours: text(FINGERPRINT_CHARS_MAX),
    theirs: text(FINGERPRINT_CHARS_MAX),
    joined: flag,
    later: optional(flag),
  }),
  HEARTBEAT: message<'HEARTBEAT'>({
    counter: whole,
    joined: flag,
    capacity,
    address,
    fingerprintHash: hash,
    news,
    more: optional(flag),
    gone: list(end, GONE_MAX),
    suspects: list(end, MEMBERS_MAX),
    idle: flag,
    idleSince: whole,
    gen: whole,
    viewHash: hash,
    orders: hash,
    regions,
    complete: regions,
    needs: optional(flag),
    pages: optional(
      shape<PagesState>({
        ...{ epoch, base: integer, pages: whole, quiet: flag, changes: whole, round: whole },
      }),
    ),
  }),
  ...overlayMessages,
  LIST: message<'LIST'>({
    list: whole,
    part: whole,
    hosts: list(host, HOSTS_MAX),
    last: flag,
    leavers: list(id, MEMBERS_MAX),
    slotsMs: optional(duration),
  }),
  LIST_ASK: message<'LIST_ASK'>({ leavers: list(id, MEMBERS_MAX) }),
  LIST_ACK: message<'LIST_ACK'>({ list: whole, part: whole }),
  YIELD: message<'YIELD'>({
    list: whole,
    items: list(shape<YieldItem>({ host, waitMs: duration, withdrawn: optional(flag) }), HOSTS_MAX),
  }),
  YIELD_ACK: message<'YIELD_ACK'>({
    list: whole,
    items: list(shape<{ host: string; keep: boolean }>({ host, keep: flag }), HOSTS_MAX),
  }),
  URLS: message<'URLS'>({
    batch: whole,
    urls: list(
      shape<UrlItem>({
        url,
        fetchUrl: optional(url),
        depth: whole,
        referrer: optional(url),
        attempts: optional(whole),
        sitemap: optional(flag),
      }),
      URLS_MAX,
    ),
  }),
  KNOWN: message<'KNOWN'>({
    key: whole,
    urls: textLike(/^[A-Za-z0-9+/]*={0,2}$/, 'base64', KNOWN_CHARS_MAX),
  }),
  URLS_ACK: message<'URLS_ACK'>({ batch: whole, notMine: list(natural(URLS_MAX - 1), URLS_MAX) }),
  ROWS: message<'ROWS'>({
    number: whole,
    items: list(
      shape<RowsItem>({
        host,
        from: whole,
        to: whole,
        events: list(rowEvent, ROW_EVENTS_MAX),
        version: whole,
        backoffMs: duration,
        delayMs: duration,
        busy: optional(whole),
        stale: optional(whole),
        failures: optional(
          shape<HostFailures>({
            busyMs: duration,
            blocks: whole,
            unconnected: whole,
            unanswered: whole,
          }),
        ),
      }),
      HOSTS_MAX,
    ),
  }),
  ROWS_ACK: message<'ROWS_ACK'>({
    number: whole,
    gen: whole,
    items: list(shape<{ host: string; mark: number }>({ host, mark: whole }), HOSTS_MAX),
  }),
  BATCH_REFUSED: message<'BATCH_REFUSED'>({ batch: whole, reason: text(REASON_CHARS_MAX) }),
  LEAVE: message<'LEAVE'>({}),
  ORDERS: message<'ORDERS'>({ orders }),
  COMPLETE: message<'COMPLETE'>({
    greeting: optional(hash),
    covers,
    members: optional(list(id, MEMBERS_MAX)),
    orders: optional(hash),
  }),
  SLOT_ASK: message<'SLOT_ASK'>({ address: ip, slot: whole, ask: whole }),
  SLOT_GRANT: message<'SLOT_GRANT'>({ address: ip, slot: whole, ask: whole, forMs: duration }),
  SLOT_END: message<'SLOT_END'>({ address: ip, slot: whole, agoMs: duration }),
  PAGES_ASK: message<'PAGES_ASK'>({ ...tokens, wanted: whole }),
  PAGES_GRANT: message<'PAGES_GRANT'>({ ...tokens, over: flag }),
  COUNT: message<'COUNT'>({ epoch, round: whole }),
  COUNTED: message<'COUNTED'>({
    ...{ epoch, round: whole, viewHash: hash, quiet: flag },
    ...{ pages: whole, base: integer },
  }),
  ROBOTS_ASK: message<'ROBOTS_ASK'>({ origin, asker: origin, waitedMs: duration }),
  ROBOTS_TOLD: message<'ROBOTS_TOLD'>({
    origin,
    asker: origin,
    answer: oneOf(['rules', 'absent', 'unreachable', 'redirect', 'refused', 'waiting']),
    reason: text(REASON_CHARS_MAX),
    body: nullable(text(ROBOTS_CHARS_MAX)),
    to: nullable(origin),
    hops: natural(HOPS_MAX),
  }),
  RELAY: message<'RELAY'>({
    ...{ origin: id, to: id, envelope: relayed },
    sender: optional(shape({ capacity, address })),
  }),
  CONTROL: message<'CONTROL'>({
    request: whole,
    verb: oneOf(Object.keys(verbs)),
    args: list(text(URL_CHARS_MAX), ARGS_MAX),
    crawl: optional(text(CRAWL_CHARS_MAX)),
    to: optional(list(shape<MemberCard>(card), MEMBERS_MAX)),
    sender: optional(shape({ address, fingerprintHash: hash })),
  }),
  CONTROL_ACK: message<'CONTROL_ACK'>({ request: whole, ok: flag, result: freeJson }),
};

const checkOf: ReadonlyMap<unknown, Check> = new Map<unknown, Check>(Object.entries(messages));

/** Whether other agents would accept the directive. */
export function isDirective(value: unknown): value is Directive {
  return order(value, 0) === null;
}

/** Any JSON, with limited nesting, so that recursive code does not overflow the stack. */
function freeJson(value: unknown): string | null {
  return value !== undefined && isShallow(value, DEPTH_MAX) ? null : ': missing or too deep';
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

/** The envelope inside a RELAY. It must not contain another RELAY. */
function relayed(value: unknown, incarnationMax: number): string | null {
  if (isRecord(value) && isRecord(value.message) && value.message.type === 'RELAY') {
    return ': a relay within a relay';
  }
  return checkEnvelope(value, incarnationMax);
}

/** @param anonymous - whether it may be a command-line tool, or unknown: its identifier is empty */
function checkEnd(value: unknown, anonymous: boolean, incarnationMax: number): string | null {
  if (!anonymous || !isRecord(value) || value.id !== '') return end(value, incarnationMax);
  return value.inc === 0 && Object.keys(value).length === 2 ? null : ': not an end';
}

function checkEnvelope(value: unknown, incarnationMax: number): string | null {
  if (!isRecord(value)) return ': not an object';
  const { from, to, message: inner } = value;
  if (!isRecord(inner)) return '.message: not an object';
  const type = inner.type;
  const check = checkOf.get(type);
  if (check === undefined) return '.message.type: unknown';
  const command = type === 'CONTROL';
  const mayLackName = command || type === 'CONTROL_ACK' || type === 'PING';
  const wrongEnd =
    prefixed('.from', checkEnd(from, command, incarnationMax)) ??
    prefixed('.to', checkEnd(to, mayLackName, incarnationMax));
  if (wrongEnd !== null) return wrongEnd;
  const wrong = check(inner, incarnationMax);
  if (wrong !== null) return `.message${wrong}`;
  if (type === 'RELAY' && !agrees(inner as unknown as Body<'RELAY'>)) {
    return '.message: names other ends than its envelope';
  }
  return Object.keys(value).length === 3 ? null : ': unknown key';
}

function prefixed(path: string, wrong: string | null): string | null {
  return wrong === null ? null : path + wrong;
}

function agrees(relay: Body<'RELAY'>): boolean {
  return relay.envelope.from.id === relay.origin && relay.envelope.to.id === relay.to;
}

/**
 * Checks a parsed frame. The returned envelope is the value itself, not a copy.
 *
 * @param incarnationMax highest plausible incarnation. The real agent must be able to exceed a
 *   forged one (see `TransportOptions.incarnationMax`)
 */
export function validateEnvelope(value: unknown, incarnationMax = INCARNATION_MAX): Validated {
  const wrong = checkEnvelope(value, incarnationMax);
  if (wrong === null) return { ok: true, envelope: value as Envelope };
  return { ok: false, detail: `envelope${wrong}`, ...readable(value, incarnationMax) };
}

/** The readable parts of an invalid envelope. */
function readable(value: unknown, incarnationMax: number): Omit<Rejected, 'ok' | 'detail'> {
  if (!isRecord(value)) return {};
  if (end(value.from, incarnationMax) !== null) {
    if (end(value.from, INCARNATION_MAX) !== null) return {};
    const ahead = value.from as unknown as End;
    const greeting = isRecord(value.message) ? value.message.greeting : undefined;
    return {
      ahead: hash(greeting, 0) === null ? { ...ahead, greeting: greeting as string } : ahead,
    };
  }
  const from = value.from as unknown as End;
  const inner = value.message;
  if (end(value.to, incarnationMax) !== null || !isRecord(inner)) return { from };
  const to = value.to as unknown as End;
  const batch = inner.batch;
  if (inner.type !== 'URLS' || whole(batch, 0) !== null) return { from, to };
  return { from, to, batch: batch as number };
}
