// One URL with everything that decides about it, one host with its URLs, and SQL.

import { html, useEffect, useState } from '/lib/htm.js';
import { post } from './api.js';
import { bytes, count, dateTime, duration, some } from './format.js';
import { Failure, Table, Unread, useAnswer, useRows } from './tables.js';

export function Lookup({ filters, setFilters }) {
  const [text, setText] = useState(filters.url ?? filters.host ?? '');
  useEffect(() => setText(filters.url ?? filters.host ?? ''), [filters.url, filters.host]);
  const submit = (event) => {
    event.preventDefault();
    const given = text.trim();
    setFilters(/^https?:/i.test(given) ? { url: given } : { host: given });
  };
  return html`<section>
    <h2>Look up</h2>
    <form class="filters" role="search" onSubmit=${submit}>
      <label class="wide">A URL or a host <input type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="https://example.org/page" /></label>
      <button type="submit">Look up</button>
    </form>
    ${filters.url && html`<${UrlReport} url=${filters.url} />`}
    ${filters.host && html`<${HostReport} host=${filters.host} />`}
  </section>`;
}

const VERDICTS = { true: 'good', false: 'bad' };

function UrlReport({ url }) {
  const { found: report, error } = useAnswer('/explain', { url });
  if (error) return html`<${Failure} error=${error} />`;
  if (!report) return html`<p class="quiet" aria-busy="true">Asking the owner…</p>`;
  const its = report.stored?.url;
  const refused = report.filters.find(({ passes }) => passes === false);
  return html`<article class="card">
    <h3 class="url">${report.url}</h3>
    <dl>
      <dt>State</dt><dd>${report.state === 'response' ? 'done' : (report.state ?? 'not known')}</dd>
      ${its?.fetchedAt && html`<dt>Answer</dt><dd>${[its.status ?? its.error, its.contentType, its.bytes !== null && bytes(its.bytes), duration(its.durationMs)].filter(Boolean).join(', ')}, ${dateTime(its.fetchedAt)}</dd>`}
      <dt>Owner</dt><dd>${report.owner ?? 'not known'}, then ${report.order.slice(1, 4).join(', ')}</dd>
      ${report.foundAt && html`<dt>Found</dt><dd>${dateTime(report.foundAt)}</dd>`}
      <dt>Allowed</dt><dd>${refused ? `no: ${refused.why}` : 'yes'}</dd>
    </dl>
    <h4>Rules</h4>
    <ul class="checks">
      ${report.filters.map(
        ({ filter, passes, why }) => html`<li key=${filter}><span class=${`pill ${VERDICTS[passes]}`}>${passes === null ? 'unknown' : passes ? 'passes' : 'stops'}</span> <strong>${filter}</strong> <span class="quiet">${why}</span></li>`,
      )}
    </ul>
    ${
      (report.chain ?? []).length > 0 &&
      html`<h4>How it was found</h4>
        <ol class="chain">
          ${report.chain.toReversed().map(
            (link) => html`<li><a href=${`#lookup?url=${encodeURIComponent(link.url)}`}>${link.url}</a> <span class="quiet">${link.status ?? link.state} at ${link.agent}</span></li>`,
          )}
        </ol>`
    }
    <details><summary>All that is stored</summary><pre tabindex="0" role="region" aria-label="All that is stored">${JSON.stringify(report.stored ?? null, null, 2)}</pre></details>
  </article>`;
}

const VIEWS = { pages: 'Pages', frontier: 'Queued', skipped: 'Skipped' };
const link = ({ url }) => html`<a class="url" href=${`#lookup?url=${encodeURIComponent(url)}`}>${url}</a>`;
const COLUMNS = {
  pages: [
    { title: 'URL', by: (p) => p.url, of: link },
    { title: 'Status', number: true, by: (p) => p.status ?? 0, of: (p) => p.status ?? p.error },
    { title: 'Type', of: (p) => p.content_type ?? '' },
    { title: 'Bytes', number: true, of: (p) => bytes(p.bytes) },
    { title: 'Time', number: true, of: (p) => duration(p.duration_ms) },
    { title: 'At', number: true, by: (p) => p.fetched_at, of: (p) => dateTime(p.fetched_at) },
  ],
  frontier: [
    { title: 'URL', of: link },
    { title: 'Depth', number: true, of: (p) => p.depth },
    { title: 'Failed requests', number: true, of: (p) => p.attempts },
    { title: 'State', of: (p) => p.state },
  ],
  skipped: [
    { title: 'URL', of: link },
    { title: 'Reason', of: (p) => p.reason },
  ],
};

function HostReport({ host }) {
  const [view, setView] = useState('pages');
  const found = useRows(`/${view}`, { host });
  const its = useRows('/hosts', { search: host, sort: 'pages_queued', limit: 1000 }).rows.find((row) => row.host === host);
  return html`<article class="card">
    <h3 class="url">${host}</h3>
    ${its && html`<p>${its.state}, at ${its.agent}; ${some(its.pages_done, 'page', 'pages')}, ${count(its.pages_queued)} queued; a request every ${duration(its.delay_ms)}</p>`}
    <div class="tabs" role="group" aria-label="List">
      ${Object.entries(VIEWS).map(
        ([name, title]) => html`<button type="button" aria-pressed=${view === name} onClick=${() => setView(name)}>${title}</button>`,
      )}
    </div>
    <${Failure} error=${found.error} />
    <${Unread} problems=${found.problems} />
    <${Table} caption=${VIEWS[view]} columns=${COLUMNS[view]} rows=${found.rows} keyOf=${({ url }) => url} empty=${found.isLoading ? 'Loading…' : found.error ? '' : 'None.'} />
    ${found.next && html`<button type="button" onClick=${found.more}>More</button>`}
  </article>`;
}

const EXAMPLES = {
  'By status': 'SELECT status, error, count(*) FROM pages GROUP BY 1, 2 ORDER BY 3 DESC',
  'Skipped': 'SELECT reason, count(*) FROM skipped GROUP BY 1 ORDER BY 2 DESC',
  'Failed': 'SELECT url, error, attempts FROM pages WHERE status IS NULL LIMIT 100',
};

/** More rows would slow the browser down. */
const ROWS_SHOWN_MAX = 2000;

export function Sql({ filters, setFilters }) {
  const [text, setText] = useState(filters.sql ?? Object.values(EXAMPLES)[0]);
  const [{ rows, columns: names, problems, error, isRunning, tookMs }, set] = useState({});
  useEffect(() => void (filters.sql && setText(filters.sql)), [filters.sql]);
  const run = async (event) => {
    event.preventDefault();
    setFilters({ sql: text });
    set({ isRunning: true });
    const startedAt = performance.now();
    try {
      const found = await post('/query', { sql: text });
      set({ ...found, tookMs: performance.now() - startedAt });
    } catch (error) {
      set({ error });
    }
  };
  const columns = names?.map((name) => ({
    title: name,
    number: typeof rows[0][name] === 'number',
    of: (row) => (row[name] === null ? html`<span class="quiet">null</span>` : String(row[name])),
  }));
  return html`<section>
    <h2>SQL</h2>
    <form class="stack" onSubmit=${run}>
      <label><span>A <a href="https://www.sqlite.org/lang_select.html" rel="noreferrer">SELECT</a> from the views pages, frontier, skipped, hosts, links, events, orders and samples</span>
        <textarea rows="5" spellcheck=${false} value=${text} onInput=${(e) => setText(e.target.value)}></textarea>
      </label>
      <div class="row">
        <button type="submit" class="main" disabled=${isRunning}>${isRunning ? 'Running…' : 'Run'}</button>
        <label>Examples <select onChange=${(e) => e.target.value && setText(EXAMPLES[e.target.value])}>
          <option value="">choose</option>${Object.keys(EXAMPLES).map((name) => html`<option>${name}</option>`)}
        </select></label>
      </div>
    </form>
    <${Failure} error=${error} />
    <${Unread} problems=${problems} />
    ${rows && html`<p class="quiet" role="status">${some(rows.length, 'row', 'rows')} in ${duration(tookMs)}${rows.length > ROWS_SHOWN_MAX && `; the first ${count(ROWS_SHOWN_MAX)} are shown`}</p>
      <${Table} caption="Rows" columns=${columns} rows=${rows.slice(0, ROWS_SHOWN_MAX)} keyOf=${(row) => rows.indexOf(row)} empty="None." />`}
  </section>`;
}
