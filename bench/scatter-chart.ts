// Points and the line fitted to them, as SVG, in the style of the bar charts.

import { chartStyle, escapeXml } from './chart.ts';
import type { Line } from './least-squares.ts';

const width = 860;
const height = 340;
const left = 70;
const right = 24;
const top = 44;
const bottom = 52;
/** Marks of each axis, besides 0. */
const marks = 5;

export interface Scatter {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** From 0 up. */
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly line: Line;
}

export function scatterChart({ title, x, y, points, line }: Scatter): string {
  const xMost = Math.max(1e-9, ...points.map((point) => point[0]));
  const yMost = 1.1 * Math.max(1e-9, ...points.map((point) => point[1]));
  const at = (value: number) => (left + (value / xMost) * (width - left - right)).toFixed(1);
  const up = (value: number) =>
    (height - bottom - (value / yMost) * (height - top - bottom)).toFixed(1);
  const fitted = (value: number) => line.intercept + line.slope * value;
  const steps = Array.from({ length: marks + 1 }, (_, k) => k / marks);
  const digits = (most: number) => (most < 10 ? 1 : 0);
  const axes = steps.flatMap((step) => [
    `<text x="${at(step * xMost)}" y="${height - bottom + 18}" text-anchor="middle">` +
      `${(step * xMost).toFixed(digits(xMost))}</text>`,
    `<text x="${left - 8}" y="${Number(up(step * yMost)) + 4}" text-anchor="end">` +
      `${(step * yMost).toFixed(digits(yMost))}</text>`,
  ]);
  const dots = points.map(
    (point) => `<circle class="own" cx="${at(point[0])}" cy="${up(point[1])}" r="3.5"/>`,
  );
  const rule =
    `y = ${line.slope.toFixed(2)} x ${line.intercept < 0 ? '-' : '+'} ` +
    `${Math.abs(line.intercept).toFixed(2)}, R² = ${line.rSquared.toFixed(3)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<style>${chartStyle}\n</style>`,
    `<text class="title" x="8" y="22">${escapeXml(title)}</text>`,
    `<path class="spread" fill="none" d="M${left} ${top}V${height - bottom}H${width - right}"/>`,
    ...axes,
    `<text x="${width - right}" y="${height - 12}" text-anchor="end">${escapeXml(x)}</text>`,
    `<text x="${left}" y="${top - 6}">${escapeXml(y)}</text>`,
    `<path class="spread" d="M${at(0)} ${up(Math.max(0, fitted(0)))}L${at(xMost)} ` +
      `${up(fitted(xMost))}"/>`,
    ...dots,
    `<text x="${left + 16}" y="${top + 16}">${escapeXml(rule)}</text>`,
    '</svg>\n',
  ].join('\n');
}
