// The input and the result of each part of `paper.ts`.

import { barChart, stackCharts } from './chart.ts';
import type { PartResult } from './parts.ts';

export interface PaperGiven {
  /** Hosts of each agent. */
  readonly hosts: number;
  /** Pages of each host. */
  readonly pages: number;
  /** The largest simulated cluster. */
  readonly most: number;
  readonly runs: number;
}

export interface PaperChart {
  readonly title: string;
  readonly digits: number;
  /** What was measured is `isOwn`, what was published or is expected is not. */
  readonly bars: readonly {
    readonly title: string;
    readonly value: number;
    readonly isOwn: boolean;
  }[];
}

export interface Part extends PartResult {
  readonly charts: readonly PaperChart[];
}

/** All charts as one SVG image. */
export function chartsOf(charts: readonly PaperChart[]): string {
  const drawn = charts.map(({ title, digits, bars }) => {
    const exact = bars.map((bar) => ({ ...bar, least: bar.value, most: bar.value }));
    return barChart(title, exact, digits);
  });
  return stackCharts('The measures of UbiCrawler', drawn);
}
