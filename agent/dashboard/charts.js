// Rates over time, drawn by uPlot.

import { html, useEffect, useRef } from '/lib/htm.js';
import { agentColour, rate, short, step, time } from './format.js';

const HEIGHT = 150;
/** Between the marks of an axis of counts. */
const WHOLE_STEPS = Array.from({ length: 13 }, (_, k) => [1, 2, 5].map((n) => n * 10 ** k)).flat();

/** The colours that canvases cannot take from the style sheet. */
function themeColours(element) {
  const { color, borderColor } = getComputedStyle(element);
  return { text: color, line: borderColor };
}

/** Lines of more agents could not be told apart. */
const LINES_MAX = 12;
const SPREAD = [['highest', 1], ['median', 0.5], ['lowest', 0]];

/** A line for each agent; of many agents, the highest, the middle and the lowest value at each time. */
export function seriesOf(ids, valuesOf, colours) {
  const all = ids.map(valuesOf);
  if (ids.length <= LINES_MAX) return ids.map((id, i) => ({ label: id, colour: colours(id), values: all[i] }));
  const sorted = (all[0] ?? []).map((_, at) => all.map((values) => values[at]).filter((value) => value !== null && value !== undefined).sort((a, b) => a - b));
  return SPREAD.map(([label, part], i) => ({
    ...{ label, colour: agentColour(i) },
    values: sorted.map((values) => values[Math.round(part * (values.length - 1))] ?? null),
  }));
}

/**
 * @param {{ title: string, isCount?: boolean, times: number[], series: { label: string, colour: string, values: (number | null)[] }[], theme: string }} props -
 *   times in seconds since 1970
 */
export function Chart({ title, times, series, theme, isCount }) {
  const box = useRef(null);
  const plot = useRef(null);
  const labels = series.map(({ label }) => label).join();
  useEffect(() => {
    const { text, line } = themeColours(box.current);
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui' };
    const options = {
      width: box.current.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      axes: [{ ...axis, size: 30, space: 80, values: (_, values) => values.map((v) => time(v * 1000)) }, { ...axis, size: 48, ...(isCount && { incrs: WHOLE_STEPS }), values: (_, values) => values.map(step) }],
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      series: [
        {},
        ...series.map(({ label, colour }, i) => ({
          ...{ label, stroke: colour, width: 2, points: { show: false } },
          ...(i === 0 && series.length === 1 && { fill: `color-mix(in oklab, ${colour} 18%, transparent)` }),
        })),
      ],
    };
    plot.current = new window.uPlot(options, [times, ...series.map(({ values }) => values)], box.current);
    const resize = new ResizeObserver(() => {
      plot.current?.setSize({ width: box.current.clientWidth, height: HEIGHT });
    });
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, [labels, theme]);
  useEffect(() => {
    plot.current?.setData([times, ...series.map(({ values }) => values)]);
  }, [times]);
  const text = isCount ? short : rate;
  const latest = series.map(({ label, values }) => `${label} ${typeof values.at(-1) === 'number' ? text(values.at(-1)) : '–'}`);
  return html`<figure class="chart">
    <figcaption>${title}
      <span class="keys">${series.slice(0, 6).map(({ label, colour }, i) => html`<span key=${label}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect y="3" width="10" height="4" rx="2" fill=${colour} /></svg> ${latest[i]}</span>`)}</span>
    </figcaption>
    <div ref=${box} class="plot" role="img" aria-label=${`${title} over time; now ${latest.join(', ')}`}></div>
  </figure>`;
}
