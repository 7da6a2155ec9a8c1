// Derives the JSON Schema of a config file, and a flat list of its keys for error messages and
// docs/CONFIG.md. The JSON Schema does not contain the rules between keys, which `config check`
// applies as well.

import { z } from 'zod';
import { configSchema } from './schema.ts';

/** The properties of a JSON Schema that are used here. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

export interface ConfigKey {
  /** Such as `cluster.agents[].id`. */
  readonly path: string;
  readonly description: string;
  /** Absent if the key has no default or is a section. */
  readonly default?: unknown;
  readonly example?: unknown;
  /** Whether the key only groups other keys. */
  readonly section: boolean;
}

/** @returns the JSON Schema (draft 2020-12) of a config file */
export function configJsonSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (!('example' in jsonSchema)) return;
      // zod drops `examples` of types with a default, so the schema uses `example`.
      jsonSchema.examples = [jsonSchema.example as never];
      delete jsonSchema.example;
    },
  }) as JsonSchema;
}

/** Computed on first use, because most commands do not need it. */
let known: readonly ConfigKey[] | null = null;

/** @returns all keys in the order of the schema; a section precedes its keys */
export function configKeys(): readonly ConfigKey[] {
  if (known === null) {
    const keys: ConfigKey[] = [];
    collect(configJsonSchema(), '', keys);
    known = keys;
  }
  return known;
}

function collect(node: JsonSchema, prefix: string, keys: ConfigKey[]): void {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const section = child.properties !== undefined;
    const example = child.examples?.[0] ?? child.default;
    keys.push({
      path,
      section,
      description: child.description ?? '',
      ...(section || child.default === undefined ? {} : { default: child.default }),
      ...(section || example === undefined ? {} : { example }),
    });
    collect(child, path, keys);
    for (const variant of [child, ...(child.anyOf ?? [])]) {
      if (variant.items?.properties !== undefined) collect(variant.items, `${path}[]`, keys);
    }
  }
}
