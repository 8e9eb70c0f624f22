// The configuration as JSON Schema: for editors (config/schema.json) and for finding keys by their level.

import * as z from 'zod';
import { configSchema } from './schema.ts';

/** A node of the JSON Schema, as far as it is read here. */
export interface JsonSchemaNode {
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly items?: JsonSchemaNode;
  readonly [keyword: string]: unknown;
}

/** The schema of the whole YAML, with descriptions and defaults. */
export function configJsonSchema(): JsonSchemaNode {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    override: ({ jsonSchema, path }) => {
      // A block without keys of its own is all defaults, so none has to be there but the two named below.
      delete jsonSchema.required;
      delete jsonSchema.propertyNames;
      const { type } = jsonSchema;
      const isContainer = type === 'object' || type === 'array';
      if (isContainer && path.length > 0) Object.assign(jsonSchema, { type: [type, 'null'] });
    },
  }) as JsonSchemaNode;
  const { $schema, ...rest } = schema;
  return {
    $schema,
    title: 'Configuration of prom2otlp',
    ...rest,
    required: ['api', 'services'],
  };
}

/** The keys of every block by its path, as `metrics.limits` or `services[].api`; the root is ``. */
export function keysByLevel(schema: JsonSchemaNode): ReadonlyMap<string, readonly string[]> {
  const levels = new Map<string, readonly string[]>();
  const walk = (node: JsonSchemaNode, path: string): void => {
    if (node.items !== undefined) walk(node.items, `${path}[]`);
    if (node.properties === undefined) return;
    levels.set(path, Object.keys(node.properties));
    for (const [key, child] of Object.entries(node.properties)) {
      walk(child, path === '' ? key : `${path}.${key}`);
    }
  };
  walk(schema, '');
  return levels;
}
