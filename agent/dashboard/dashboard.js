// The dashboard: gets the state of the cluster every second, keeps a history for the charts, and shows
// one of its parts, which the address names.

import { html, render, useEffect, useMemo, useRef, useState } from '/lib/htm.js';
import { get, may, readStream, token } from './api.js';
import { Chart, seriesOf } from './charts.js';
import { Circle, colouring, Matrix } from './circle.js';
import { Directives, LeaveDialog, Receipt, useCommand } from './controls.js';
import { agentColour, byName, count, dateTime, duration, rate, short } from './format.js';
import { Lookup, Sql } from './lookup.js';
import { Replay } from './replay.js';
import { Agents, EventList, Events, Failure, Hosts, Problems } from './tables.js';

const POLL_MS = 1000;
/** Longer than the stream takes from one state to the next. */
const SILENT_MS = 2500;
const SAMPLES_MAX = 1800;
const EVENTS_MAX = 2000;
/** Time over which the queue must shrink steadily before an end is estimated. */
const ESTIMATE_MS = 60_000;
const PARTS = {
  ...{ overview: 'Overview', agents: 'Agents', hosts: 'Hosts', events: 'Events' },
  ...{ lookup: 'Look up', sql: 'SQL', directives: 'Directives', replay: 'Replay' },
};

/** The part and its filters: `#hosts?state=trap`. */
function placeOf(hash) {
  const [part, search = ''] = hash.slice(1).split('?');
  return { part: Object.hasOwn(PARTS, part) ? part : 'overview', filters: Object.fromEntries(new URLSearchParams(search)) };
}

function usePlace() {
  const [place, setPlace] = useState(placeOf(location.hash));
  useEffect(() => {
    const changed = () => setPlace(placeOf(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  /** `isStep`: one of many, which the button Back does not stop at. */
  const setFilters = (filters, isStep = false) => {
    const given = Object.entries(filters).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given).toString();
    const hash = search ? `#${place.part}?${search}` : `#${place.part}`;
    if (isStep) location.replace(hash);
    else location.hash = hash;
  };
  return { ...place, setFilters };
}

/**
 * The last state of the cluster, samples of it, why there is no answer, the circle and the events. The
 * server sends them in one stream. While that brings no state, as when a proxy holds it back, the page
 * asks for it.
 */
function useLive(tokenNumber) {
  const [state, set] = useState({ view: null, error: null, samples: [] });
  const [circle, setCircle] = useState(null);
  const [events, setEvents] = useState([]);
  const [unread, setUnread] = useState([]);
  const refresh = useRef(() => {});
  useEffect(() => {
    setEvents([]);
    const page = new AbortController();
    let stream = new AbortController();
    let shownAt = -Infinity;
    let waiting = [];
    let last = null;
    let name = null;
    /** By agent: what marks its state in the identifiers of events. */
    const marks = new Map();
    const isIdle = () => page.signal.aborted || document.hidden;
    /** What the page has is of another crawl, or of states that were deleted: the stream begins anew. */
    const begin = () => {
      last = null;
      waiting = [];
      marks.clear();
      setEvents([]);
      set((was) => ({ ...was, samples: [] }));
      stream.abort();
    };
    const hear = (event, id) => {
      const mark = markOf(event.agent, id);
      if (mark && (marks.get(event.agent) ?? mark) !== mark) return begin();
      if (mark) marks.set(event.agent, mark);
      waiting.push({ ...event, id });
      last = id;
    };
    const show = (view) => {
      shownAt = performance.now();
      if (name !== null && view.name !== name) begin();
      name = view.name;
      set(({ samples }) => ({ view, error: null, samples: [...samples, sampleOf(view)].slice(-SAMPLES_MAX) }));
    };
    const look = async () => {
      shownAt = performance.now();
      try {
        show(await get('/cluster', {}, page.signal));
      } catch (error) {
        if (page.signal.aborted) return;
        // The server of a launch ends with the crawl, after it has said so.
        const isEnded = (was) => error.status === 0 && was.view?.complete !== undefined;
        set((was) => (isEnded(was) ? { ...was, hasEnded: true } : { ...was, error }));
      }
    };
    const ask = () => {
      if (isIdle() || performance.now() - shownAt < SILENT_MS) return;
      look();
      // Asked for by itself: the state of the cluster waits for agents that do not answer.
      get('/circle', {}, page.signal).then(setCircle, () => {});
    };
    const read = async () => {
      const on = { cluster: show, circle: setCircle, unread: setUnread, message: hear };
      while (!page.signal.aborted) {
        stream = new AbortController();
        // What is wrong is in the answer to the next question.
        if (!document.hidden) await readStream(last, on, stream.signal).catch(() => {});
        if (!isIdle()) look();
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    };
    const take = () => {
      if (waiting.length === 0) return;
      const fresh = waiting.toReversed();
      waiting = [];
      setEvents((was) => [...fresh, ...was].sort((a, b) => b.at - a.at).slice(0, EVENTS_MAX));
    };
    // A page in the background asks nothing.
    const turned = () => (document.hidden ? stream.abort() : look());
    document.addEventListener('visibilitychange', turned);
    const timers = [setInterval(ask, POLL_MS), setInterval(take, 250)];
    refresh.current = look;
    read();
    return () => {
      page.abort();
      stream.abort();
      timers.forEach(clearInterval);
      document.removeEventListener('visibilitychange', turned);
    };
  }, [tokenNumber]);
  return { ...state, circle, events, unread, refresh: () => refresh.current() };
}

/** The mark of the agent in the identifier of an event, `a1.12@mark,a2.7@mark`; undefined: it has none. */
function markOf(agent, id = '') {
  const name = `,${encodeURIComponent(agent)}.`;
  const at = `,${id}`.indexOf(name);
  const from = at + name.length - 1;
  return at < 0 ? undefined : /^\d+@(\w+)/.exec(id.slice(from, from + 30))?.[1];
}

function sampleOf({ at, agents }) {
  const of = (name) => Object.fromEntries(agents.map((agent) => [agent.id, agent[name]]));
  return { at, failed: of('failures'), rates: of('pagesPerSecond'), queued: of('queued'), delays: of('loopDelayMs') };
}

const sum = (values) => Object.values(values).reduce((a, b) => a + b, 0);

/** The time left, in words; null unless the queue has shrunk all the time. */
function estimateOf(samples) {
  const last = samples.at(-1);
  const first = samples.find(({ at }) => last.at - at <= ESTIMATE_MS);
  if (!first || last.at - first.at < ESTIMATE_MS * 0.8) return null;
  const middle = samples[Math.floor((samples.indexOf(first) + samples.length - 1) / 2)];
  const [from, half, to] = [first, middle, last].map(({ queued }) => sum(queued));
  if (to === 0 || !(from > half && half > to)) return null;
  return `≈ ${duration((to / (from - to)) * (last.at - first.at))}`;
}

function stateOf({ complete, agents, failures }) {
  if (complete) return ['good', 'complete'];
  if (agents.length === 0) return ['bad', failures.length > 0 ? 'not running' : 'no agent'];
  if (agents.some(({ paused }) => paused)) return ['warn', 'paused'];
  return agents.some(({ joined }) => joined) ? ['good', 'crawling'] : ['warn', 'starting'];
}

function Header({ view, error, samples, refresh, askToken }) {
  const command = useCommand(view, refresh);
  const [kind, text] = error ? ['bad', [401, 403].includes(error.status) ? 'refused' : 'no answer'] : view ? stateOf(view) : ['', 'connecting'];
  const agents = view?.agents ?? [];
  const total = (name) => agents.reduce((all, agent) => all + agent[name], 0);
  const turn = agents.some(({ paused }) => paused) ? 'Resume' : 'Pause';
  const left = agents.length > 0 && samples.length > 0 ? estimateOf(samples) : null;
  // Without agents nothing is known, which is not the same as 0 pages.
  const sums = agents.length > 0 && [
    ['pages', count(total('pages'))],
    ['pages/s', rate(total('pagesPerSecond'))],
    ['queued', short(total('queued'))],
    ['hosts', count(total('hosts'))],
  ];
  const numbers = view && [
    ...(sums || []),
    ['agents', `${agents.length} of ${agents.length + view.unreachable.length}`, view.unreachable.length > 0 && !view.complete && 'missing'],
    ...(left ? [['time left', left]] : []),
  ];
  return html`<header class="top">
    <div class="brand"><img src="/icon.svg" alt="" width="30" height="30" /><h1>${view?.name ?? 'ubiring'}</h1><span class=${`pill ${kind}`}>${text}</span></div>
    ${numbers && html`<dl class="numbers">${numbers.map(([name, value, kind]) => html`<div key=${name}><dt>${name}</dt><dd class=${kind || ''}>${value}</dd></div>`)}</dl>`}
    <div class="actions">
      ${agents.length > 0 && html`<button type="button" class="main" disabled=${!may('steer')} onClick=${() => command.send(turn, '/directives', { kind: turn.toLowerCase() })}>${turn}</button>`}
      <button type="button" onClick=${askToken}>Token</button>
      <${Theme} />
    </div>
    <div class="under"><${Receipt} command=${command} /></div>
  </header>`;
}

const THEMES = { auto: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' };

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem('ubiring-theme') ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('ubiring-theme', theme);
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return html`<label><span class="hidden">Theme</span><select value=${theme} onChange=${(e) => setTheme(e.target.value)}>
    ${Object.entries(THEMES).map(([value, text]) => html`<option value=${value}>${text}</option>`)}
  </select></label>`;
}

function useTheme() {
  const [theme, set] = useState('');
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const changed = () => set(`${document.documentElement.dataset.theme} ${dark.matches}`);
    addEventListener('themechange', changed);
    dark.addEventListener('change', changed);
    return () => {
      removeEventListener('themechange', changed);
      dark.removeEventListener('change', changed);
    };
  }, []);
  return theme;
}

function Now({ view }) {
  const { problems } = view;
  return html`<section class="card problems" aria-live="polite">
    <h2>What is wrong now</h2>
    ${
      problems.length === 0
        ? html`<p><span class="pill good">Nothing</span> ${view.complete ? `The crawl was completed at ${dateTime(view.complete.at)}.` : 'All agents answer, and all hear one another.'}</p>`
        : html`<${Problems} problems=${problems} />`
    }
  </section>`;
}

/** Of many events of a kind in succession, two are shown: others may matter more. */
const isNews = ({ kind }, i, all) => all[i - 1]?.kind !== kind || all[i - 2]?.kind !== kind;

function Overview({ view, hasEnded, circle, samples, events, colours, theme }) {
  if (view.agents.length === 0) {
    return html`<${Now} view=${view} /><section class="card"><h2>No agent runs</h2>${!hasEnded && html`<p><a href="#replay">Replay</a> shows the crawl until now.</p>`}<${EventList} events=${events.slice(0, 12)} /></section>`;
  }
  // Agents that no longer answer keep their lines.
  const ids = [...new Set(samples.flatMap(({ rates }) => Object.keys(rates)))].sort(byName);
  const times = samples.map(({ at }) => at / 1000);
  const perAgent = (name) => seriesOf(ids, (id) => samples.map((sample) => sample[name][id] ?? null), colours);
  const queue = [{ label: 'all', colour: colours(ids[0] ?? ''), values: samples.map(({ queued }) => sum(queued)) }];
  const all = view.agents.reduce((n, { pagesPerSecond }) => n + pagesPerSecond, 0);
  return html`
    <${Now} view=${view} />
    <div class="grid">
      <section class="card">
        <h2>${view.overlay === 'ring' ? 'Ring' : 'Trie of identifiers'}</h2>
        <${Circle} circle=${circle} colours=${colours} middle=${{ value: rate(all), label: 'pages/s' }} />
      </section>
      <div class="side">
        <section class="card">
          <h2>Who heard whom</h2>
          <${Matrix} agents=${view.agents} suspectAfterMs=${view.suspectAfterMs} overlay=${view.overlay} />
        </section>
        <section class="card">
          <h2>Latest events</h2>
          <${EventList} events=${events.filter(isNews).slice(0, 6)} />
        </section>
      </div>
      ${times.length > 1 && html`<section class="card wide">
        <h2>Since this page was opened</h2>
        <div class="charts">
          <${Chart} title="Pages per second" times=${times} series=${perAgent('rates')} theme=${theme} />
          <${Chart} title="Queued URLs" isCount times=${times} series=${queue} theme=${theme} />
          <${Chart} title="Failed requests per minute" times=${times} series=${failedSeries(samples)} theme=${theme} />
          <${Chart} title="Loop delay in ms" times=${times} series=${perAgent('delays')} theme=${theme} />
        </div>
      </section>`}
    </div>
  `;
}

/** The classes with most failures, each over the last ten seconds, of the agents that answer. */
function failedSeries(samples) {
  const totals = new Map();
  for (const classes of Object.values(samples.at(-1)?.failed ?? {})) {
    for (const [name, n] of Object.entries(classes ?? {})) totals.set(name, (totals.get(name) ?? 0) + n);
  }
  const names = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, 6);
  return names.map((label, i) => ({
    ...{ label, colour: agentColour(i + 4) },
    values: samples.map(({ at, failed }, k) => {
      const before = samples[Math.max(0, k - 10)];
      const minutes = (at - before.at) / 60_000;
      const since = Object.keys(failed).map((id) => {
        return before.failed[id] ? (failed[id]?.[label] ?? 0) - (before.failed[id][label] ?? 0) : 0;
      });
      return minutes === 0 ? null : since.reduce((all, n) => all + Math.max(0, n), 0) / minutes;
    }),
  }));
}

function TokenDialog({ onClose, onChange }) {
  const dialog = useRef(null);
  const [text, setText] = useState(token.get());
  useEffect(() => dialog.current.showModal(), []);
  const use = (given) => {
    if (given !== token.get()) {
      token.set(given);
      onChange();
    }
    dialog.current.close();
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="token-title">
    <form class="stack" onSubmit=${(event) => {
      event.preventDefault();
      use(text.trim());
    }}>
      <h2 id="token-title">Token</h2>
      <p>From the file that <code>monitor.tokens</code> names, or from MONITOR_TOKENS. It is kept for this tab only. On the machine of the agent, none is needed to read.</p>
      <label>Token <input type="password" autocomplete="off" pattern="[!-~]*" value=${text} onInput=${(e) => setText(e.target.value)} /></label>
      <div class="row"><button type="submit" class="main">Use it</button>${token.get() && html`<button type="button" onClick=${() => use('')}>Forget it</button>`}<button type="button" onClick=${() => dialog.current.close()}>Cancel</button></div>
    </form>
  </dialog>`;
}

function App() {
  const { part, filters, setFilters } = usePlace();
  const [tokenNumber, setTokenNumber] = useState(0);
  const [dialog, setDialog] = useState(null);
  const { view, error, hasEnded, samples, circle, events, unread, refresh } = useLive(tokenNumber);
  const colours = useMemo(colouring, []);
  const theme = useTheme();
  // Colours follow the names, not the order in which agents were met.
  for (const { id } of view?.agents ?? []) colours(id);
  const shown = error && view ? { ...view, problems: [{ text: error.message, remedy: error.remedy ?? '', isGrave: true }] } : view && { ...view, problems: [...view.problems, ...unread] };
  const common = { view: shown, filters, setFilters, colours, refresh };
  const parts = {
    overview: () => html`<${Overview} ...${common} hasEnded=${hasEnded} circle=${circle} samples=${samples} events=${events} theme=${theme} />`,
    agents: () => html`<${Agents} ...${common} onLeave=${(id) => setDialog({ leave: id })} />`,
    hosts: () => html`<${Hosts} ...${common} />`,
    events: () => html`<${Events} ...${common} events=${events} />`,
    lookup: () => html`<${Lookup} ...${common} />`,
    sql: () => html`<${Sql} ...${common} />`,
    directives: () => html`<${Directives} ...${common} />`,
    replay: () => html`<${Replay} ...${common} theme=${theme} />`,
  };
  return html`
    <a class="skip" href="#${part}" onClick=${(e) => { e.preventDefault(); document.querySelector('main').focus(); }}>Skip to the content</a>
    <${Header} view=${view} error=${error} samples=${samples} refresh=${refresh} askToken=${() => setDialog('token')} />
    <nav aria-label="Parts"><ul>
      ${Object.entries(PARTS).map(([name, title]) => html`<li key=${name}><a href=${`#${name}`} aria-current=${part === name ? 'page' : undefined}>${title}</a></li>`)}
    </ul></nav>
    <main tabindex="-1">
      <${Failure} error=${error} />
      ${hasEnded && html`<p class="note" role="status">The crawl was completed, and this server has ended. <code>ubiring replay CONFIG</code> shows the crawl.</p>`}
      ${view ? parts[part]() : !error && html`<p class="quiet" aria-busy="true">Asking the agents…</p>`}
    </main>
    ${dialog === 'token' && html`<${TokenDialog} onClose=${() => setDialog(null)} onChange=${() => setTokenNumber(tokenNumber + 1)} />`}
    ${dialog?.leave && html`<${LeaveDialog} id=${dialog.leave} refresh=${refresh} onClose=${() => setDialog(null)} />`}
  `;
}

render(html`<${App} />`, document.getElementById('app'));
