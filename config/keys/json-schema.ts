// The JSON Schema of a config file, made from the zod schema, for editors and for `config schema`;
// and the same as a flat list of keys, from which messages take examples and docs/CONFIG.md is
// written. Rules between keys cannot be said here: `config check` knows more than the JSON Schema.

import { z } from 'zod';
import { configSchema } from './schema.ts';

/** A JSON Schema node, as far as this product reads one. */
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

/** One key of the config: `cluster.agents[].id`, with what the reference says of it. */
export interface ConfigKey {
  readonly path: string;
  readonly description: string;
  /** Absent where the key has none, or is a section. */
  readonly default?: unknown;
  readonly example?: unknown;
  /** Whether it only groups other keys. */
  readonly section: boolean;
}

/** @returns the JSON Schema (draft 2020-12) of what a file may hold. */
export function configJsonSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (!('example' in jsonSchema)) return;
      // zod drops `examples` from types with a default, hence the detour by a name of our own.
      jsonSchema.examples = [jsonSchema.example as never];
      delete jsonSchema.example;
    },
  }) as JsonSchema;
}

/** Made when first asked for, since most starts need none of it, and kept: it never changes. */
let known: readonly ConfigKey[] | null = null;

/** @returns every key in the order of the schema, sections before what they hold. */
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
