// The past of the crawl: a time slider with the circle, the rates and the changes of members at that
// time.

import { html, useEffect, useRef, useState } from '/lib/htm.js';
import { get } from './api.js';
import { Chart, seriesOf } from './charts.js';
import { Circle } from './circle.js';
import { count, dateTime, duration, rate, time } from './format.js';
import { Failure, Problems } from './tables.js';

const REFRESH_MS = 10_000;
const STEPS = 1000;
/** The whole crawl in this time. */
const PLAY_MS = 30_000;
const TICK_MS = 100;
/** A sample is valid for so long: an agent that has ended takes no more. */
const SAMPLE_MS_MAX = 20_000;
const TEXTS = { join: 'joins', leave: 'leaves', suspect: 'is removed' };

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
      setFilters({ at: Math.min(at + step, span.to).toFixed(0) });
    }, TICK_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, at, span]);
  if (error && !history) return html`<${Failure} error=${error} />`;
  if (!history) return html`<p class="quiet" aria-busy="true">Reading the state files…</p>`;
  const { problems } = history;
  const lost = problems.length > 0 && html`<section class="card problems"><h2>Not shown</h2><${Problems} problems=${problems} /></section>`;
  if (!span) return html`${lost}<p class="quiet">The agents have recorded nothing yet. They take a sample every 10 s.</p>`;
  const now = history.agents.map(({ id, samples }) => ({ id, sample: sampleAt(samples, at) }));
  const total = (i) => now.reduce((sum, { sample }) => sum + (sample?.[i] ?? 0), 0);
  const { times, of } = valuesUntil(history, at);
  const ids = history.agents.map(({ id }) => id);
  const past = history.changes.filter((change) => change.at <= at).reverse();
  const start = () => {
    if (!isPlaying && at >= span.to) setFilters({ at: span.from });
    setPlaying(!isPlaying);
  };
  const move = (event) => {
    setPlaying(false);
    setFilters({ at: (span.from + ((span.to - span.from) * event.target.value) / STEPS).toFixed(0) });
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
          ['pages', count(total(1))],
          ['pages/s', rate(total(3))],
          ['queued', count(total(2))],
        ].map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
      </dl>
    </div>
    <div class="grid">
      <section class="card"><h2>Members at that time</h2>
        <${Circle} circle=${circle} at=${circle?.at} colours=${colours} middle=${{ value: String(circle?.views[0]?.agents.length ?? 0), label: 'agents' }} />
      </section>
      <section class="card"><h2>Changes until then</h2>
        <ol class="events" aria-label="Changes of the members, the latest first">
          ${past.slice(0, 12).map(
            ({ at: then, by, id, kind }) => html`<li key=${`${then} ${by} ${id}`}>
              <time>${time(then)}</time><span class="who">${by}</span><span class=${`kind ${kind}`}>${kind}</span><span class="detail">${id} ${TEXTS[kind]}</span>
            </li>`,
          )}
        </ol>
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

/** The last sample before `at`, unless the agent has ended since. */
function sampleAt(samples, at) {
  let found = null;
  for (const sample of samples) {
    if (sample[0] > at) break;
    found = sample;
  }
  const gap = samples.length > 1 ? (samples.at(-1)[0] - samples[0][0]) / (samples.length - 1) : 0;
  return found && at - found[0] <= Math.max(SAMPLE_MS_MAX, 2 * gap) ? found : null;
}

/** One axis of time for all agents, up to `at`. */
function valuesUntil({ agents }, at) {
  const all = [...new Set(agents.flatMap(({ samples }) => samples.map(([then]) => Math.round(then / 1000))))];
  const times = all.filter((then) => then * 1000 <= at).sort((a, b) => a - b);
  const of = (i) => (id) => {
    const { samples } = agents.find((agent) => agent.id === id);
    const values = new Map(samples.map((sample) => [Math.round(sample[0] / 1000), sample[i]]));
    return times.map((then) => values.get(then) ?? null);
  };
  return { times, of };
}
