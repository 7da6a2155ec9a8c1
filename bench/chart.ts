// Horizontal bars as SVG, for a page on a light or dark background: colours follow the reader's
// preference, and the background is transparent. Bars show the median, a line across their end
// shows the spread, and every figure is also text.

export interface Bar {
  readonly title: string;
  readonly value: number;
  readonly least: number;
  readonly most: number;
  /** Drawn in the colour of the subject of the chart. */
  readonly isOwn: boolean;
}

const width = 860;
const rowHeight = 26;
const barHeight = 16;
/** Space for titles on the left and figures on the right. */
const left = 290;
const right = 90;
const top = 44;

export const chartStyle = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.own { fill: #0969da } .other { fill: #8c959f } .spread { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .own { fill: #4493f8 } .other { fill: #6e7681 }
  .spread { stroke: #e6edf3 }
}`;

/**
 * @param bars - from top to bottom; values from 0 up
 * @param digits - decimals of the figures
 */
export function barChart(title: string, bars: readonly Bar[], digits = 0): string {
  const most = Math.max(1e-9, ...bars.map((bar) => bar.most));
  const x = (value: number) => (left + (value / most) * (width - left - right)).toFixed(1);
  const rows = bars.map((bar, k) => {
    const y = top + k * rowHeight;
    const middle = y + barHeight / 2;
    const length = (Number(x(bar.value)) - left).toFixed(1);
    const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    const figure = bar.value.toLocaleString('en-US', decimals);
    return [
      `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${escapeXml(bar.title)}</text>`,
      `<rect class="${bar.isOwn ? 'own' : 'other'}" x="${left}" y="${y}" width="${length}" ` +
        `height="${barHeight}" rx="2"/>`,
      `<path class="spread" d="M${x(bar.least)} ${middle}H${x(bar.most)}"/>`,
      `<text x="${Number(x(bar.most)) + 8}" y="${y + 13}">${figure}</text>`,
    ].join('\n');
  });
  const height = top + bars.length * rowHeight + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<style>${chartStyle}\n</style>`,
    `<text class="title" x="8" y="22">${escapeXml(title)}</text>`,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

/** Charts below each other, as one image. */
export function stackCharts(title: string, charts: readonly string[]): string {
  let height = 0;
  const placed = charts.map((chart) => {
    const at = height;
    height += Number(/ height="(\d+)"/.exec(chart)?.[1] ?? 0) + 12;
    return chart.replace('<svg ', `<svg y="${at}" `);
  });
  const open =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">\n`;
  return `${open}${placed.join('')}</svg>\n`;
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
