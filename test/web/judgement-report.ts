// Formats a judgement as text: a table, and the violations.

import type { Judgement } from './judge.ts';

type Row = readonly [name: string, value: string];

/** @param delayMs - the delay that was asked for */
export function rowsOf(judgement: Judgement, delayMs: number, seconds: number): Row[] {
  const { requests, hosts, expected, fetched, worstGapMs } = judgement;
  const gap = worstGapMs === null ? 'none' : `${worstGapMs.toFixed(1)} ms`;
  return [
    ['hosts', String(hosts)],
    ['required URLs fetched', `${fetched} of ${expected} (${percent(fetched, expected)})`],
    ['requests', `${requests} in ${seconds.toFixed(1)} s`],
    ['fetched again', String(judgement.overlap.count)],
    ['shortest pause at a host', `${gap} (asked for: ${delayMs} ms)`],
    ['requests too soon', String(judgement.tooSoon.count)],
    ['two at a host at once', String(judgement.concurrent.count)],
    ['before robots.txt', String(judgement.beforeRobots.count)],
    ['forbidden', String(judgement.forbidden.count)],
    ['linked by no page', String(judgement.unknown.count)],
  ];
}

export function tableOf(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n');
}

export function violationsOf(judgement: Judgement): string {
  return Object.entries(judgement)
    .flatMap(([name, value]) =>
      typeof value === 'object' && value !== null ? [{ name, value }] : [],
    )
    .filter(({ value }) => value.count > 0)
    .map(({ name, value }) => `  ${name} (${value.count}): ${value.samples.join(', ')}`)
    .join('\n');
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
}
