// The past of the crawl: a time slider with the circle, the rates and the changes of members at that
// time.

import { html, useEffect, useRef, useState } from '/lib/htm.js';
import { get } from './api.js';
import { Chart, seriesOf } from './charts.js';
import { Circle } from './circle.js';
import { count, dateTime, duration, rate, some, time } from './format.js';
import { Failure, Problems } from './tables.js';

const REFRESH_MS = 10_000;
const STEPS = 1000;
/** The whole crawl in this time. */
const PLAY_MS = 30_000;
const TICK_MS = 100;
/** A sample is valid for so long: an agent that has ended takes no more. */
const SAMPLE_MS_MAX = 20_000;
const TEXTS = { join: 'joins', leave: 'leaves', suspect: 'is removed' };
const CHANGES_SHOWN = 12;
/** Places of a chart. */
const POINTS_MAX = 600;

export function Replay({ colours, theme, filters, setFilters }) {
  const [{ history, error }, set] = useState({});
  const [circle, setCircle] = useState(null);
  const [isPlaying, setPlaying] = useState(false);
  const shown = useRef(0);
  useEffect(() => {
    const load = () =>
      get('/history').then(
        (found) => set({ history: found }),
        (failure) => set((was) => ({ ...was, error: failure })),
      );
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const span = history?.span;
  const at = span ? clamp(filters.at ? Number(filters.at) : span.to, span) : 0;
  useEffect(() => {
    if (at === 0) return;
    // The answer to the last question counts, whatever the order of the answers.
    const asked = ++shown.current;
    get('/circle', { at: Math.round(at) }).then(
      (found) => asked === shown.current && setCircle({ ...found, at }),
      () => {},
    );
  }, [at]);
  useEffect(() => {
    if (!isPlaying || !span) return;
    const step = ((span.to - span.from) * TICK_MS) / PLAY_MS;
    const timer = setTimeout(() => {
      if (at + step >= span.to) setPlaying(false);
      setFilters({ at: Math.min(at + step, span.to).toFixed(0) }, true);
    }, TICK_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, at, span]);
  if (error && !history) return html`<${Failure} error=${error} />`;
  if (!history) return html`<p class="quiet" aria-busy="true">Reading the state files…</p>`;
  const { problems } = history;
  const lost = problems.length > 0 && html`<section class="card problems"><h2>Not shown</h2><${Problems} problems=${problems} /></section>`;
  if (!span) return html`${lost}<p class="quiet">The agents have recorded nothing yet. They take a sample every 10 s.</p>`;
  const now = history.agents.map(({ samples }) => samplesAt(samples, [at])[0]);
  const isKnown = now.some((sample) => sample !== null);
  const total = (i, text) => (isKnown ? text(now.reduce((sum, sample) => sum + (sample?.[i] ?? 0), 0)) : '–');
  // No event tells the end of an agent that was stopped or killed with all others.
  const hasEnded = !isKnown && history.agents.some(({ samples }) => samples[0]?.[0] <= at);
  const { times, of } = valuesUntil(history, at);
  const ids = history.agents.map(({ id }) => id);
  const past = changesUntil(history.changes, at);
  const start = () => {
    if (!isPlaying && at >= span.to) setFilters({ at: span.from });
    setPlaying(!isPlaying);
  };
  const move = (event) => {
    setPlaying(false);
    setFilters({ at: (span.from + ((span.to - span.from) * event.target.value) / STEPS).toFixed(0) }, true);
  };
  return html`<section>
    <h2>Replay</h2>
    ${lost}
    <div class="player card">
      <button type="button" class="main" onClick=${start}>${isPlaying ? 'Stop' : 'Play'}</button>
      <label class="wide">${dateTime(at)}, ${duration(at - span.from)} after the start
        <input type="range" min="0" max=${STEPS} value=${Math.round(((at - span.from) / (span.to - span.from || 1)) * STEPS)} onInput=${move} />
      </label>
      <dl class="numbers">
        ${[
          ['pages then', total(1, count)],
          ['pages/s then', total(3, rate)],
          ['queued then', total(2, count)],
        ].map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
      </dl>
    </div>
    <div class="grid">
      <section class="card"><h2>Members at that time</h2>
        ${
          hasEnded
            ? html`<p class="quiet">No agent has recorded anything at that time.</p>`
            : html`<${Circle} circle=${circle} at=${circle?.at} colours=${colours} middle=${{ value: String(circle?.views[0]?.agents.length ?? 0), label: 'agents' }} />`
        }
      </section>
      <section class="card"><h2>Changes until then</h2>
        <ol class="events" aria-label="Changes of the members, the latest first">
          ${past.slice(0, CHANGES_SHOWN).map(
            ({ at: then, by, id, kind }) => html`<li key=${`${then} ${id} ${kind}`}>
              <time>${time(then)}</time><span class="who">${id}</span><span class=${`kind ${kind}`}>${TEXTS[kind]}</span><span class="detail">seen by ${[...by].join(', ')}</span>
            </li>`,
          )}
        </ol>
        ${past.length > CHANGES_SHOWN && html`<p class="quiet">and ${some(past.length - CHANGES_SHOWN, 'earlier one', 'earlier ones')}</p>`}
      </section>
      <section class="card wide"><div class="charts">
        <${Chart} title="Pages per second" times=${times} series=${seriesOf(ids, of(3), colours)} theme=${theme} />
        <${Chart} title="Queued URLs" isCount times=${times} series=${seriesOf(ids, of(2), colours)} theme=${theme} />
      </div></section>
    </div>
  </section>`;
}

function clamp(at, { from, to }) {
  return Number.isFinite(at) ? Math.min(Math.max(at, from), to) : to;
}

/** The changes until `at`, the latest first. One that several agents saw is one. */
function changesUntil(changes, at) {
  const rows = [];
  const last = new Map();
  for (const { by, ...change } of changes) {
    if (change.at > at) break;
    const was = last.get(change.id);
    // An agent that joins meets the others, which have joined before.
    if (was?.kind === change.kind && (change.kind !== 'join' || was.incarnation === change.incarnation)) was.by.add(by);
    else {
      const row = { ...change, by: new Set([by]) };
      last.set(change.id, row);
      rows.push(row);
    }
  }
  return rows.toReversed();
}

/** The last sample at each of the `times`, unless the agent has ended since. */
function samplesAt(samples, times) {
  const gap = samples.length > 1 ? (samples.at(-1)[0] - samples[0][0]) / (samples.length - 1) : 0;
  let k = -1;
  return times.map((at) => {
    while (samples[k + 1]?.[0] <= at) k++;
    return k >= 0 && at - samples[k][0] <= Math.max(SAMPLE_MS_MAX, 2 * gap) ? samples[k] : null;
  });
}

/** One axis of time for all agents, up to `at`, although each takes its samples at other times. */
function valuesUntil({ span: { from, to }, agents }, at) {
  const step = Math.max(SAMPLE_MS_MAX / 2, (to - from) / POINTS_MAX);
  const all = Array.from({ length: Math.ceil((at - from) / step) }, (_, k) => from + k * step);
  all.push(at);
  const found = new Map(agents.map(({ id, samples }) => [id, samplesAt(samples, all)]));
  const of = (i) => (id) => found.get(id).map((sample) => sample?.[i] ?? null);
  return { times: all.map((then) => then / 1000), of };
}
