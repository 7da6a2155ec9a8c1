// Writes docs/CONFIG.md from the config's schema, so that the page agrees with the checks. Run it
// as `npm run docs` after a change of the schema; test/unit/docs/config-page.test.ts fails until
// then.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ConfigKey, configKeys } from '../../config/keys/json-schema.ts';

export const configPagePath = resolve(import.meta.dirname, '../../docs/CONFIG.md');

const opening = `# Config

A config is a YAML or JSON file; [config/example.yaml](../config/example.yaml) has every key. \`ubiring config check FILE\` names each problem with its line, and the first problem of the file \`monitor.tokens\`.

Defaults are in parentheses. *Higher* says what a larger value changes. Durations are milliseconds, or \`500ms\`, \`10s\`, \`2m\`, \`1h\`; sizes are bytes, or \`64KiB\`, \`2MiB\`. Paths are relative to the config file. An unknown key is an error.

All agents must agree on \`name\`, \`scope\`, \`urls\`, \`links\`, \`limits\`, \`politeness\`, \`http.userAgent\` and, in \`cluster\`, \`overlay\`, \`kademlia\`, \`replicas\`, \`backups\`, \`quorum\` (with \`majority\` also on the identifiers) and \`failureDetector\`, and with \`dedup.mode: redis\` on \`dedup\`. An agent that differs is refused, and so is a start in which \`name\` or \`urls\` differ from those of the state.`;

/** @returns the whole page */
export function configPage(keys: readonly ConfigKey[]): string {
  const parts = [opening];
  let open = '';
  for (const key of keys) {
    const section = sectionOf(key);
    if (section !== open || parts.length === 1) parts.push(heading(section));
    open = section;
    if (!key.section) parts.push(item(key));
  }
  return `${parts.join('\n')}\n`;
}

/** The first name of a path that is a section. Keys at the top level have none. */
function sectionOf({ path, section }: ConfigKey): string {
  const dot = path.indexOf('.');
  if (dot < 0) return section ? path : '';
  return path.slice(0, dot);
}

function heading(section: string): string {
  return `\n## ${section === '' ? 'The crawl' : `\`${section}\``}\n`;
}

function item(key: ConfigKey): string {
  const standard = key.default === undefined ? '' : ` (${code(key.default)})`;
  const example = isExampleShown(key) ? ` Example: ${code(key.example)}.` : '';
  return `- \`${key.path}\`${standard}: ${key.description}${example}`;
}

/**
 * Shows the example only if neither the default nor the description shows how a value is written.
 */
function isExampleShown({ example, default: standard }: ConfigKey): boolean {
  if (example === undefined || typeof example === 'number') return false;
  if (JSON.stringify(example) === JSON.stringify(standard)) return false;
  return typeof standard === 'object' || standard === undefined;
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

if (import.meta.main) writeFileSync(configPagePath, configPage(configKeys()));
