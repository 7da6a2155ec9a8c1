// Rates over time, drawn by uPlot.

import { html, useEffect, useRef } from '/lib/htm.js';
import { short, time } from './format.js';

const HEIGHT = 170;

/** The colours that canvases cannot take from the style sheet. */
function themeColours(element) {
  const { color, borderColor } = getComputedStyle(element);
  return { text: color, line: borderColor };
}

/**
 * @param {{ title: string, times: number[], series: { label: string, colour: string, values: (number | null)[] }[], theme: string }} props -
 *   times in seconds since 1970
 */
export function Chart({ title, times, series, theme }) {
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
      axes: [{ ...axis, space: 80, values: (_, values) => values.map((v) => time(v * 1000)) }, { ...axis, size: 52, values: (_, values) => values.map((v) => short(v)) }],
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      series: [
        {},
        ...series.map(({ label, colour }, i) => ({
          ...{ label, stroke: colour, width: 2, spanGaps: true, points: { show: false } },
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
  const latest = series.map(({ label, values }) => `${label} ${short(values.at(-1) ?? 0)}`);
  return html`<figure class="chart">
    <figcaption>${title} <span class="quiet">${latest.slice(0, 6).join(' · ')}</span></figcaption>
    <div ref=${box} class="plot" role="img" aria-label=${`${title} over time; now ${latest.join(', ')}`}></div>
  </figure>`;
}
