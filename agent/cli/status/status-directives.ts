// The operator's directives in force in the output of `status`, with
// the agents that are not known to have received them.

import {
  DIRECTIVES_SHOWN_MAX,
  type DirectiveInForce,
  isOfAgents,
} from '../../core/protocol/directives.ts';
import { delayText, renderTable } from '../common/output.ts';

export interface ListedDirective extends DirectiveInForce {
  /** Agents that are not known to have received it. */
  readonly missing: readonly string[];
}

/** @param ids - all agents of the config and of the cluster's view */
export function listedDirectives(directives: readonly DirectiveInForce[], ids: readonly string[]) {
  return directives.map((directive): ListedDirective => {
    return { ...directive, missing: ids.filter((id) => !directive.applied.includes(id)) };
  });
}

/** Null if no directive is in force. */
export function directivesText(directives: readonly ListedDirective[]): string | null {
  if (directives.length === 0) return null;
  const columns = ['directive', 'applies to', 'value', 'given by', 'not reached'];
  const rows = directives.map((directive) => {
    const { kind, value, by, missing } = directive;
    const number = isOfAgents({ kind }) && kind !== 'drain' ? String(value) : '';
    const said = kind === 'delay' && value !== null ? delayText(value) : number;
    return [kind, appliesTo(directive), said, by, missing.join(', ')];
  });
  const table = renderTable(
    columns.map((title) => ({ title })),
    rows,
  );
  if (directives.length < DIRECTIVES_SHOWN_MAX) return table;
  return `${table}\nnot more than ${DIRECTIVES_SHOWN_MAX} are listed; the view orders has all`;
}

/** Hosts or agents; empty: the whole cluster. */
export function appliesTo({ kind, host }: Pick<DirectiveInForce, 'kind' | 'host'>): string {
  return isOfAgents({ kind }) && host === '*' ? 'all' : host;
}
