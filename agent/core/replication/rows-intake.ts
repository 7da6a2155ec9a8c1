// Checks and applies the rows that other agents send. False rows could cause requests to another
// host, or end pages that nobody fetched. Rows of a host are accepted from its owner, from an agent
// that has listed the host, and from an agent whose rows of it were accepted before, which may
// settle pages after its YIELD. Other rows are answered with the unchanged mark: a correct sender
// resends them.

import type { Instant } from '../../../failure-detector/instant.ts';
import { hasOriginOf, identityOf } from '../../url/url-key.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host, Message, RowEvent, RowsItem } from '../protocol/messages.ts';
import { putLatest } from '../protocol/put-latest.ts';
import type { CoreSettings } from '../protocol/settings.ts';

type Rows = Extract<Message, { type: 'ROWS' }>;
type RowsAck = Extract<Message, { type: 'ROWS_ACK' }>;

/** Pairs of sender and host whose rows were refused; the oldest is dropped. */
const STRAYS_MAX = 1000;
/** Views agree, and lists arrive, within this many times `suspectAfterMs`. */
const STRAY_SUSPECTS = 3;

export interface RowsIntakeParts {
  readonly settings: Pick<CoreSettings, 'suspectAfterMs'>;
  readonly store: Pick<Store, 'applyRows' | 'markOf' | 'generation'>;
  readonly view: View;
  readonly outbound: Outbound;
  readonly handOff: Pick<HandOff, 'isListedBy'>;
  /** The host of a canonical URL; null if the URL is not canonical. */
  readonly hostOf: (url: string) => Host | null;
  readonly refused: RefusedClaims;
}

export class RowsIntake {
  readonly #p: RowsIntakeParts;
  /**
   * By sender and host: when rows were first and last refused. Filled by refusals up to
   * `STRAYS_MAX`, emptied when rows are accepted.
   */
  readonly #strays = new Map<string, { since: number; last: number }>();

  constructor(parts: RowsIntakeParts) {
    this.#p = parts;
  }

  /** Applies rows, and acknowledges them after the commit. Returns the hosts that have changed. */
  onRows(from: Member, message: Rows, now: Instant): Host[] {
    const { store, view, outbound } = this.#p;
    const items: { host: Host; mark: number }[] = [];
    const touched: Host[] = [];
    for (const item of message.items) {
      const { host } = item;
      if (!this.#accepts(from, item, now)) {
        items.push({ host, mark: store.markOf(host, from.card.id) });
        continue;
      }
      const { mark, changed } = store.applyRows(from.card.id, item, view.owns(host), now.mono);
      items.push({ host, mark });
      if (changed) touched.push(host);
    }
    const { number } = message;
    const ack: RowsAck = { type: 'ROWS_ACK', number, gen: store.generation(), items };
    outbound.toMember(from, ack, { durable: true });
    return touched;
  }

  #accepts(from: Member, item: RowsItem, now: Instant): boolean {
    const { id } = from.card;
    const key = `${id} ${item.host}`;
    const mark = this.#p.store.markOf(item.host, id);
    // With a mark, rows of the host were accepted before, so its name is canonical.
    const wrong = wrongIn(item, mark > 0 ? null : this.#p.hostOf);
    if (wrong !== null) {
      this.#p.refused.refuse(id, 'rows', wrong, now);
      return false;
    }
    const may = mark > 0 || this.#mayStream(from, item.host);
    if (may) {
      this.#strays.delete(key);
      return true;
    }
    if (may !== null && item.events.length > 0 && this.#isPersistent(key, now)) {
      this.#p.refused.refuse(id, 'rows', `${item.host.slice(0, 100)} is not its host`, now);
    }
    return false;
  }

  /** Notes a refusal; returns whether the sender has repeated the rows for too long. */
  #isPersistent(key: string, now: Instant): boolean {
    const { suspectAfterMs } = this.#p.settings;
    const known = this.#strays.get(key);
    const goesOn = known !== undefined && now.mono - known.last < suspectAfterMs;
    const since = goesOn ? known.since : now.mono;
    putLatest(this.#strays, key, { since, last: now.mono }, STRAYS_MAX);
    return now.mono - since >= STRAY_SUSPECTS * suspectAfterMs;
  }

  /**
   * Whether the agent has listed the host, or comes first in its preference list among the members
   * that have joined and have recent heartbeats. Null: this agent does not know the list.
   */
  #mayStream(from: Member, host: Host): boolean | null {
    const { view, handOff } = this.#p;
    if (handOff.isListedBy(host, from)) return true;
    for (const id of view.assignment().order(host, view.size + 1)) {
      if (id === from.card.id) return true;
      if (id === view.me) return false;
      const before = view.get(id);
      if (before?.joined && !before.silent && !before.unechoed) return false;
    }
    return null;
  }
}

/**
 * Returns why rows are invalid from any sender; null if they are valid.
 *
 * @param hostOf - null if the name of the host is known to be canonical
 */
export function wrongIn(item: RowsItem, hostOf: RowsIntakeParts['hostOf'] | null): string | null {
  const { host, from, to, events } = item;
  const named = host.slice(0, 100);
  if (hostOf && hostOf(`http://${host}/`) !== host) return `${named} is not a canonical host name`;
  if (from > to) return `its rows of ${named} are numbered from ${from} to ${to}`;
  for (const event of events) {
    const { n } = event;
    if (n < from || n > to) return `a row of ${named} has number ${n}, outside ${from} to ${to}`;
    const url = foreignUrl(event, host);
    if (url !== null) return `a row of ${named} has a URL of another host: ${url.slice(0, 100)}`;
  }
  return null;
}

/**
 * A URL of another host that the event would cause to be requested as one of this host, or null.
 */
function foreignUrl(event: RowEvent, host: Host): string | null {
  if (event.kind === 'robots') {
    if (!isAt(host, event.origin)) return event.origin;
    const { location } = event;
    return event.answer === 'redirected' && location && !isAt(host, location) ? location : null;
  }
  if (event.kind === 'done' || event.fetchUrl === undefined) return null;
  return hasOriginOf(identityOf(host, event.key), event.fetchUrl) ? null : event.fetchUrl;
}

/** Whether a normalized URL or origin belongs to the host, at any port. */
function isAt(host: Host, url: string): boolean {
  const start = url.indexOf('://') + 3;
  if (!/^https?:\/\//.test(url) || !url.startsWith(host, start)) return false;
  // A dot, a port and the next character have at most eight characters.
  return /^\.?(?::\d{1,5})?(?:[/?#]|$)/.test(
    url.slice(start + host.length, start + host.length + 8),
  );
}
