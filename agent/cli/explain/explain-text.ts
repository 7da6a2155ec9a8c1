// The report of `ubiring explain` for people: a few aligned lines, the verdicts as a table, the way
// from the seed. Pure.

import { dateText, printable, renderTable } from '../common/output.ts';
import type { UrlReport } from './explain-report.ts';

/** @returns lines without a last line end */
export function explainText(report: UrlReport): string {
  const facts = factsOf(report).map(([name, value]) => ({ name, value: printable(value) }));
  const width = Math.max(...facts.map(({ name }) => name.length));
  const head = facts.map(({ name, value }) => `${name.padEnd(width)}  ${value}`);
  const rows = report.filters.map(({ filter, passes, why }) => {
    return [filter, passes === null ? 'unknown' : passes ? 'passes' : 'stops', why];
  });
  const columns = [{ title: 'filter' }, { title: 'verdict' }, { title: 'by' }];
  return [head.join('\n'), renderTable(columns, rows), ...chainText(report)].join('\n\n');
}

function factsOf(report: UrlReport): [string, string][] {
  const { identity, fetchUrl, host, owner, order, source, state, stored, foundAt } = report;
  const facts: [string, string][] = [['canonical', identity]];
  if (fetchUrl !== identity) facts.push(['requested as', fetchUrl]);
  facts.push(['host', host], ['owner', `${owner ?? 'unknown'} (order: ${order.join(', ')})`]);
  facts.push(['told', toldBy(stored?.agent, source)]);
  facts.push(['state', stateText(report, state)]);
  const url = stored?.url;
  if (!url) return facts;
  const found = url.referrer === null ? 'a seed' : `on ${url.referrer}${dated(foundAt)}`;
  facts.push(['found', found], ['depth', String(url.depth)], ['attempts', String(url.attempts)]);
  if (url.fetchedAt !== null)
    facts.push(['fetched', `${dateText(url.fetchedAt)}, ${answer(report)}`]);
  if (url.former?.fetchedAt != null) {
    const { fetchedAt, ...ended } = url.former;
    facts.push(['before', `${dateText(fetchedAt)}, ${endingText(ended)}`]);
  }
  if (url.redirectTo !== null) facts.push(['redirects to', url.redirectTo]);
  if (url.warcFile !== null) facts.push(['archived', `${url.warcFile} at ${url.warcOffset}`]);
  return facts;
}

function toldBy(agent: string | undefined, source: UrlReport['source']): string {
  if (agent === undefined) return 'by nobody: no agent answers, and there are no files';
  return source === 'agents' ? `by ${agent}` : `by the file of ${agent}; no agent answers`;
}

function stateText({ stored }: UrlReport, state: string): string {
  const { reason = null, notBefore = 0, again = false } = stored?.url ?? {};
  const queued = again ? 'queued again' : 'queued';
  if (state === 'skipped') return `skipped: ${reason ?? 'no reason kept'}`;
  if (state !== 'queued') return state;
  if (stored?.open?.kind === 'page' && stored.open.url === stored.url?.fetchUrl) {
    return `${queued}, asked for just now`;
  }
  const wait = Math.max(notBefore, stored?.host?.notBefore ?? 0);
  const paused = stored?.paused ? ', the crawl is paused' : '';
  return `${queued}${wait > 0 ? `, not before ${dateText(wait)}` : ''}${paused}`;
}

function answer({ stored }: UrlReport): string {
  const { status, error, contentType, durationMs, bytes } = stored!.url!;
  const what = endingText({ status, error });
  const more = [contentType, bytes === null ? null : `${bytes} bytes`, `${durationMs} ms`];
  return [what, ...more.filter((text) => text !== null)].join(', ');
}

function endingText({ status, error }: { status: number | null; error: string | null }): string {
  return status === null ? `no response: ${error}` : `status ${status}`;
}

function chainText({ chain }: UrlReport): string[] {
  if (chain.length === 0) return [];
  const lines = chain.map(({ url, state, status, agent }) => {
    return printable(`  ${url}  ${status ?? state}${agent === null ? '' : ` (${agent})`}`);
  });
  return [`the way back to the seed:\n${lines.join('\n')}`];
}

function dated(at: number | null): string {
  return at === null ? '' : `, ${dateText(at)}`;
}
