// Writes docs/CONFIG.md from the config's schema, so that the page says what the checks do. Run as
// `npm run docs` after a change of the schema; test/unit/docs/config-page.test.ts fails until then.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ConfigKey, configKeys } from '../../config/keys/json-schema.ts';

export const configPagePath = resolve(import.meta.dirname, '../../docs/CONFIG.md');

const opening = `# Config

A config is one YAML or JSON file. [config/example.yaml](../config/example.yaml) has every key with its default and can be copied; \`ubiring config check FILE\` names every problem with its line, \`ubiring config print FILE\` shows the values in effect, and \`ubiring config schema\` prints the JSON Schema for an editor.

Durations are milliseconds or strings with a unit: \`500ms\`, \`10s\`, \`2m\`, \`1h\`. Sizes are bytes or strings with a unit: \`64KiB\`, \`2MiB\`. Paths are relative to the config file. An unknown key is an error.

Agents that are to crawl together compare what must agree when they meet: \`scope\`, \`urls\`, \`links\`, \`limits\`, \`politeness\`, \`http.userAgent\`, and of \`cluster\` the keys \`replicas\`, \`backups\`, \`quorum\` (with \`majority\` the identifiers too) and \`failureDetector\`. One that differs is refused, with the key and both values.

This page is written by \`npm run docs\`.`;

/** @returns the whole page */
export function configPage(keys: readonly ConfigKey[]): string {
  const parts = [opening];
  let open = '';
  for (const key of keys) {
    const section = sectionOf(key);
    if (section !== open || parts.length === 1) parts.push(heading(section, keys));
    open = section;
    if (!key.section) parts.push(row(key));
    else if (key.path !== section)
      parts.push(`| **\`${key.path}\`** | | ${cell(key.description)} |`);
  }
  return `${parts.join('\n')}\n`;
}

/** The first name of a path where that is a section; keys at the top have none. */
function sectionOf({ path, section }: ConfigKey): string {
  const dot = path.indexOf('.');
  if (dot < 0) return section ? path : '';
  return path.slice(0, dot);
}

function heading(section: string, keys: readonly ConfigKey[]): string {
  const described = keys.find(({ path }) => path === section)?.description;
  const title = section === '' ? '## The crawl' : `## \`${section}\`\n\n${described}`;
  return `\n${title}\n\n| key | default | meaning |\n|---|---|---|`;
}

function row(key: ConfigKey): string {
  const example = key.example === undefined || equal(key.example, key.default);
  const meaning = example ? key.description : `${key.description} Example: ${code(key.example)}.`;
  const standard = key.default === undefined ? '' : code(key.default);
  return `| \`${key.path}\` | ${standard} | ${cell(meaning)} |`;
}

function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function code(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `\`${cell(text)}\``;
}

/** What stands in a cell of a table: on one line, without a bar. */
function cell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('|', '\\|');
}

if (import.meta.main) writeFileSync(configPagePath, configPage(configKeys()));
