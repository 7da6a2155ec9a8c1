// Tables of agents, hosts, URLs and events, with filters that are kept in the address.

import { html, useEffect, useMemo, useRef, useState } from '/lib/htm.js';
import { get, may } from './api.js';
import { ago, byName, bytes, count, duration, rate, some, time } from './format.js';

/**
 * Draws a table. A column has a title, what it shows `of` a row, perhaps `number`, and perhaps `by`:
 * the value by which a press on the title sorts the rows.
 */
export function Table({ caption, columns, rows, keyOf, empty }) {
  const [order, setOrder] = useState(null);
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  const by = columns.find(({ title }) => title === order?.title)?.by;
  const compared = (a, b) => (typeof by(a) === 'string' ? byName(by(a), by(b)) : by(a) - by(b));
  const sorted = by ? rows.toSorted((a, b) => order.sign * compared(a, b)) : rows;
  // Numbers begin with the largest; the third press restores the order.
  const press = (title, first) =>
    setOrder(order?.title !== title ? { title, sign: first } : order.sign === first ? { title, sign: -first } : null);
  const heading = ({ title, number, by: isSorted }) => {
    const sort = order?.title === title ? (order.sign > 0 ? 'ascending' : 'descending') : undefined;
    const mark = sort === 'ascending' ? ' ↑' : sort ? ' ↓' : '';
    const text = isSorted ? html`<button type="button" onClick=${() => press(title, number ? -1 : 1)}>${title}${mark}</button>` : title;
    return html`<th key=${title} scope="col" aria-sort=${sort} class=${number ? 'number' : ''}>${text}</th>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr>${columns.map(heading)}</tr>
      </thead>
      <tbody>
        ${sorted.map(
          (row) => html`<tr key=${keyOf(row)}>
            ${columns.map(({ title, number, of }) => html`<td key=${title} class=${number ? 'number' : ''}>${of(row)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function Swatch({ colour }) {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="3" fill=${colour} /></svg>`;
}

export function Failure({ error }) {
  if (!error) return null;
  return html`<div class="note bad" role="alert"><strong>${error.message}</strong>${error.remedy && html`<br />${error.remedy}`}</div>`;
}

/** What is wrong, each with its remedy and the place that shows more. */
export function Problems({ problems }) {
  return html`<ul class="problem-list">${problems.map(
    ({ text, remedy, place, isGrave }) => html`<li key=${text} class=${isGrave ? 'bad' : 'warn'}>
      <strong>${text}</strong><span>${remedy}</span>
      ${place && `#${place}` !== location.hash && html`<a href=${`#${place}`} aria-label=${`Show: ${text}`}>Show</a>`}
    </li>`,
  )}</ul>`;
}

/** State files of which a list has no rows. */
export function Unread({ problems }) {
  if (!problems?.length) return null;
  return html`<div class="note bad" role="alert"><strong>Not all states were read.</strong>${problems.map((one) => html`<br />${one}`)}</div>`;
}

function State({ agent }) {
  const [kind, text] = stateOf(agent);
  return html`<span class=${`pill ${kind}`}>${text}</span>`;
}

function stateOf({ paused, joined, lifecycle, capacity, idle }) {
  if (paused) return ['warn', 'paused'];
  if (lifecycle !== 'crawling') return ['warn', lifecycle];
  if (!joined) return ['warn', 'joining'];
  if (capacity === 0) return ['warn', 'drained'];
  return ['good', idle ? 'idle' : 'crawling'];
}

function measured(title, by, text = count) {
  return { title, number: true, by, of: (row) => text(by(row)) };
}

export function Agents({ view, colours, onLeave }) {
  const columns = [
    {
      title: 'Agent',
      by: (a) => a.id,
      of: (a) => html`<span class="nowrap"><${Swatch} colour=${colours(a.id)} /> <strong>${a.id}</strong></span>`,
    },
    { title: 'State', by: (a) => stateOf(a)[1], of: (a) => html`<${State} agent=${a} />` },
    measured('Hosts', (a) => a.hosts),
    measured('Queue', (a) => a.queued),
    measured('Pages', (a) => a.pages),
    measured('Pages/s', (a) => a.pagesPerSecond, rate),
    { title: 'Requests', number: true, by: (a) => a.openRequests, of: (a) => `${a.openRequests} of ${a.threads}` },
    measured('Outbox', (a) => a.outbox),
    measured('Copies behind', (a) => a.copyLag, (n) => some(n, 'host', 'hosts')),
    measured('Loop delay', (a) => a.loopDelayMs, duration),
    measured('Memory', (a) => a.rssBytes, bytes),
    measured('Disk left', (a) => a.diskFreeBytes ?? -1, (n) => (n < 0 ? 'not known' : bytes(n))),
    measured('Runs for', (a) => a.uptimeMs, duration),
    {
      title: 'Leave',
      of: (a) => html`<button type="button" class="small" disabled=${!may('admin')} onClick=${() => onLeave(a.id)}>Leave<span class="hidden"> ${a.id}</span></button>`,
    },
  ];
  return html`<section>
    <h2 tabindex="-1">Agents</h2>
    <${Table} caption="Agents" columns=${columns} rows=${view.agents} keyOf=${(a) => a.id} empty="No agent answers." />
    <${Problems} problems=${view.problems.filter(({ place }) => place === 'agents')} />
  </section>`;
}

/** The answer to a question, or why there is none; neither until it comes. */
export function useAnswer(path, query) {
  const key = JSON.stringify([path, query]);
  const [state, set] = useState({});
  useEffect(() => {
    const control = new AbortController();
    get(path, query, control.signal).then(
      (found) => set({ key, found }),
      (error) => error.name !== 'AbortError' && set({ key, error }),
    );
    return () => control.abort();
  }, [key]);
  return state.key === key ? state : {};
}

const LOADING = { rows: [], isLoading: true };

/**
 * Loads pages of rows; starts again when the query changes.
 *
 * @param everyMs - the first page is loaded again so often while it is all that is shown; absent: never
 */
export function useRows(path, query, everyMs) {
  const key = JSON.stringify([path, query]);
  const [state, set] = useState(LOADING);
  // The rows of another query do not belong under this one, not even while it is loaded or if it fails.
  const shown = state.key === key ? state : LOADING;
  const running = useRef(null);
  const load = async (more) => {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    try {
      const page = await get(path, { ...query, ...more }, control.signal);
      set((was) => {
        const rows = more?.after && was.key === key ? [...was.rows, ...page.rows] : page.rows;
        // A host whose number has changed since an earlier page is in both.
        return { ...page, key, isLonger: more !== undefined, rows: [...new Map(rows.map((row) => [row.url ?? row.host, row])).values()] };
      });
    } catch (error) {
      if (error.name !== 'AbortError') set((was) => ({ ...(was.key === key ? was : { key, rows: [] }), error }));
    } finally {
      if (running.current === control) running.current = null;
    }
  };
  useEffect(() => {
    load();
    return () => running.current?.abort();
  }, [key]);
  useEffect(() => {
    if (!everyMs || shown.isLonger) return;
    // A slow list is not asked for again before it is here.
    const timer = setInterval(() => document.hidden || running.current || load(), everyMs);
    return () => clearInterval(timer);
  }, [key, shown.isLonger]);
  const limit = shown.rows.length + 100;
  // Numbers change, so that hosts change their places: a longer page has each once, of 1000 at most.
  return { ...shown, more: () => load((query.sort ?? 'host') !== 'host' && limit <= 1000 ? { limit } : { after: shown.next }) };
}

/** Keeps what is chosen in the address. */
const changing = ({ filters, setFilters }, name) => (event) => setFilters({ ...filters, [name]: event.target.value || undefined });

/** A filter that is one of the values `all`, or another one that was chosen before. */
function Choice({ title, name, all, textOf = (one) => one, ...place }) {
  const chosen = place.filters[name] ?? '';
  const offered = chosen === '' || all.includes(chosen) ? all : [...all, chosen].sort(byName);
  return html`<label>${title} <select value=${chosen} onChange=${changing(place, name)}>
    <option value="">all</option>${offered.map((one) => html`<option value=${one}>${textOf(one)}</option>`)}
  </select></label>`;
}

/** A list costs its server much more than a state of the cluster. */
const HOSTS_MS = 10_000;
const HOST_STATES = ['waiting', 'visiting', 'backing off', 'trap', 'done'];
const HOST_SORTS = [
  ['pages_queued', 'largest queue'],
  ['pages_done', 'most pages'],
  ['delay_ms', 'slowest'],
  ['last_fetch_at', 'last visited'],
  ['host', 'name'],
];

export function Hosts({ view, ...place }) {
  const { filters } = place;
  const { search, state, agent, sort = 'pages_queued' } = filters;
  // What is typed must outlast the next answer of the agents.
  const [typed, setTyped] = useState(search ?? '');
  useEffect(() => setTyped(search ?? ''), [search]);
  const found = useRows('/hosts', { search, state, agent, sort }, HOSTS_MS);
  // The times in the rows are older than the next state of the cluster.
  const now = useMemo(() => view?.at ?? Date.now(), [found.rows]);
  const columns = [
    { title: 'Host', of: (h) => html`<a href=${`#lookup?host=${encodeURIComponent(h.host)}`}>${h.host}</a>` },
    { title: 'Agent', of: (h) => h.agent },
    { title: 'State', of: (h) => html`<span class=${`pill ${{ visiting: 'good', trap: 'warn', 'backing off': 'warn' }[h.state] ?? ''}`}>${h.state}</span>` },
    { title: 'Queue', number: true, of: (h) => count(h.pages_queued) },
    { title: 'Pages', number: true, of: (h) => count(h.pages_done) },
    { title: 'Delay', number: true, of: (h) => duration(h.delay_ms) },
    { title: 'robots.txt', of: (h) => h.robots ?? 'not yet' },
    { title: 'Last request', number: true, of: (h) => ago(h.last_fetch_at, now, h.pages_done ? '–' : 'never') },
    { title: 'Next request', number: true, of: (h) => (h.next_fetch_at === null ? '' : h.next_fetch_at <= now ? 'now' : ago(h.next_fetch_at, now)) },
  ];
  return html`<section>
    <h2>Hosts</h2>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Name <input type="search" value=${typed} placeholder="part of the name" onInput=${(event) => setTyped(event.target.value)} onChange=${changing(place, 'search')} /></label>
      <${Choice} ...${place} title="State" name="state" all=${HOST_STATES} />
      <${Choice} ...${place} title="Agent" name="agent" all=${(view?.agents ?? []).map(({ id }) => id)} />
      <label>Order <select value=${sort} onChange=${changing(place, 'sort')}>
        ${HOST_SORTS.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      </select></label>
    </form>
    <${Failure} error=${found.error} />
    <${Unread} problems=${found.problems} />
    <${Table} caption="Hosts" columns=${columns} rows=${found.rows} keyOf=${(h) => h.host} empty=${found.isLoading ? 'Loading…' : found.error ? '' : 'No host matches.'} />
    ${found.rows.length > 0 && html`<p class="quiet">As of ${time(now)}${found.isLonger && '; with more rows, the list is not refreshed'}</p>`}
    ${found.next && html`<button type="button" onClick=${found.more}>More</button>`}
  </section>`;
}

/** The events without those of the same kind about the same agent that others report, too. */
export function Events({ events, ...place }) {
  const { filters } = place;
  const shown = events.filter(({ kind, agent }) => {
    return (!filters.kind || kind === filters.kind) && (!filters.agent || agent === filters.agent);
  });
  const kinds = [...new Set(events.map(({ kind }) => kind))].sort();
  const ids = [...new Set(events.map(({ agent }) => agent))].sort();
  return html`<section>
    <h2>Events</h2>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} ...${place} title="Kind" name="kind" all=${kinds} textOf=${kindText} />
      <${Choice} ...${place} title="Agent" name="agent" all=${ids} />
    </form>
    <${EventList} events=${shown} empty=${events.length > 0 ? 'No event matches.' : undefined} />
    <p class="quiet"><a href=${ALL}>SQL</a> shows earlier ones.</p>
  </section>`;
}

/** The views name directives as older versions do. */
const kindText = (kind) => (kind === 'order' ? 'directive' : kind);

const ALL = '#sql?sql=SELECT * FROM events ORDER BY at DESC LIMIT 1000';

export function EventList({ events, empty = 'No events have been read yet.' }) {
  if (events.length === 0) return html`<p class="quiet">${empty}</p>`;
  return html`<ol class="events" aria-label="Events, the latest first">
    ${events.slice(0, 300).map(
      (event) => html`<li key=${event.id}>
        <time>${time(event.at)}</time><span class="who">${event.agent}</span><span class=${`kind ${event.kind}`}>${kindText(event.kind)}</span><span class="detail">${event.text}</span>
      </li>`,
    )}
  </ol>`;
}
