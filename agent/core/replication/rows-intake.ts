// Rows that other agents send here are checked before they are applied. A row names a host, and
// decides what is requested there, so a false one could send requests to another host or end pages
// that nobody fetched. Rows of a host are taken from its owner, from an agent that has listed the
// host, and from one whose rows of it were taken before: what it settles after its yield still comes.
// Everything else is answered with the mark as it is, and nothing of it is applied. An honest sender,
// whose view or whose list was ahead, sends it again, and one that goes on is named.

import type { Instant } from '../../../failure-detector/instant.ts';
import { hasOriginOf, identityOf } from '../../url/url-key.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host, Message, RowEvent, RowsItem } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';

type Rows = Extract<Message, { type: 'ROWS' }>;
type RowsAck = Extract<Message, { type: 'ROWS_ACK' }>;

const STRAYS_MAX = 1000;
/** Views agree, and lists arrive, within this many times `suspectAfterMs`. */
const STRAY_SUSPECTS = 3;

export interface RowsIntakeParts {
  readonly settings: Pick<CoreSettings, 'suspectAfterMs'>;
  readonly store: Pick<Store, 'applyRows' | 'markOf' | 'generation'>;
  readonly view: View;
  readonly outbound: Outbound;
  readonly handOff: Pick<HandOff, 'isListedBy'>;
  /** The host of a canonical URL, or null where it is not one. */
  readonly hostOf: (url: string) => Host | null;
  readonly refused: RefusedClaims;
}

export class RowsIntake {
  readonly #p: RowsIntakeParts;
  /**
   * By sender and host: since when its rows were refused one after the other, and last. Filled by
   * refusals, which drop the oldest beyond `STRAYS_MAX`; emptied when rows are taken.
   */
  readonly #strays = new Map<string, { since: number; last: number }>();

  constructor(parts: RowsIntakeParts) {
    this.#p = parts;
  }

  /**
   * Rows of a peer: applied in order, the mark told after the commit that wrote them. Gives the
   * hosts of which more is known than before.
   */
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
    const wrong = wrongIn(item, this.#p.hostOf);
    if (wrong !== null) {
      this.#p.refused.refuse(id, 'rows', wrong, now);
      return false;
    }
    const mark = this.#p.store.markOf(item.host, id);
    if (mark > 0 || this.#mayStream(from, item.host)) {
      this.#strays.delete(key);
      return true;
    }
    if (item.events.length > 0 && this.#isPersistent(key, now)) {
      this.#p.refused.refuse(id, 'rows', `${item.host.slice(0, 100)} is not its host`, now);
    }
    return false;
  }

  #isPersistent(key: string, now: Instant): boolean {
    const { suspectAfterMs } = this.#p.settings;
    const known = this.#strays.get(key);
    const goesOn = known !== undefined && now.mono - known.last < suspectAfterMs;
    const stray = { since: goesOn ? known.since : now.mono, last: now.mono };
    this.#strays.delete(key);
    this.#strays.set(key, stray);
    if (this.#strays.size > STRAYS_MAX) {
      const oldest = this.#strays.keys().next().value;
      if (oldest !== undefined) this.#strays.delete(oldest);
    }
    return now.mono - stray.since >= STRAY_SUSPECTS * suspectAfterMs;
  }

  /**
   * Whether the rows of the host come from it: it has listed the host, or it is the first in the
   * host's order, of those that have joined and are heard.
   */
  #mayStream(from: Member, host: Host): boolean {
    const { view, handOff } = this.#p;
    if (handOff.isListedBy(host, from)) return true;
    for (const id of view.assignment().order(host, view.size + 1)) {
      if (id === from.card.id) return true;
      if (id === view.me) return false;
      const before = view.get(id);
      if (before?.joined && !before.silent && !before.unechoed) return false;
    }
    return false;
  }
}

/** What is wrong in rows whoever sends them; null: nothing. */
export function wrongIn(item: RowsItem, hostOf: RowsIntakeParts['hostOf']): string | null {
  const { host, from, to, events } = item;
  const named = host.slice(0, 100);
  if (hostOf(`http://${host}/`) !== host) return `${named} is no canonical host`;
  if (from > to) return `its rows of ${named} go from ${from} to ${to}`;
  for (const event of events) {
    const { n } = event;
    if (n < from || n > to) return `a row of ${named} has the number ${n}, not in ${from} to ${to}`;
    const url = foreignUrl(event, host);
    if (url !== null)
      return `a row of ${named} names ${url.slice(0, 100)}, which is not of that host`;
  }
  return null;
}

/** A URL of the event that would be requested as one of the host, and is not; null: there is none. */
function foreignUrl(event: RowEvent, host: Host): string | null {
  if (event.kind === 'robots') {
    if (!isAt(host, event.origin)) return event.origin;
    const { location } = event;
    return event.answer === 'redirected' && location && !isAt(host, location) ? location : null;
  }
  if (event.kind === 'done' || event.fetchUrl === undefined) return null;
  return hasOriginOf(identityOf(host, event.key), event.fetchUrl) ? null : event.fetchUrl;
}

/** Whether a URL or an origin, as the parser of URLs writes it, is of the host, at any port. */
function isAt(host: Host, url: string): boolean {
  const start = url.indexOf('://') + 3;
  if (!/^https?:\/\//.test(url) || !url.startsWith(host, start)) return false;
  return /^\.?(?::\d{1,5})?(?:[/?#]|$)/.test(
    url.slice(start + host.length, start + host.length + 8),
  );
}
