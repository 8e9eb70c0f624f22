// The layers of values; for each key, the first that has a value wins:
//   1. the YAML
//   2. the OTEL_ variables (otel-variables.ts)
//   3. the profile of the back end (profile.ts)
//   4. limits that follow from the memory of the process (memory-limits.ts), and defaults that follow from other keys
//   5. the defaults that keys.ts declares, which apply where the tree has no value
// The result is a tree of plain data like the YAML itself, so that the keys and rules read all layers alike.

import type { Mistake } from '../errors.ts';
import type { Signal } from '../model/batch.ts';
import type { MemoryConfig } from './config.ts';
import { canRead, kindAt, type Layer, readAt, type Refusal, type Setting } from './declare.ts';
import { api, CONFIG, metrics, otlp } from './keys.ts';
import { memoryLimits, type MemoryReadings } from './memory-limits.ts';
import type { OtelVariables } from './otel-variables.ts';
import { isPlainMap, type KeyPath, pathText, valueAt, withValueAt, type YamlMap } from './paths.ts';
import { hasOwnAddress, profileLayer } from './profile.ts';
import { formatDuration } from './units.ts';
import type { Yaml } from './yaml.ts';

export interface Layered extends Yaml<YamlMap> {
  /** `root` has the values of all layers; `given` those that a person has set, in the YAML or in a variable. */
  readonly given: YamlMap;
  /** What messages name instead of a place in the file; undefined for a value of the YAML. */
  readonly sourceOf: (path: KeyPath) => string | undefined;
  /** Of variables that are ignored although the YAML has no value. */
  readonly warnings: readonly Mistake[];
  readonly memory: MemoryConfig;
}

/** The layers of one signal: variables may differ between signals. */
export function layersOf(
  yaml: Yaml<YamlMap>,
  signal: Signal,
  variables: OtelVariables,
  readings: MemoryReadings | null,
): Layered {
  const sources = new Map<string, string>();
  const mistakes = [...yaml.mistakes];
  const add = (root: YamlMap, layer: Layer): YamlMap => {
    let all = root;
    for (const [key, setting] of layer) {
      const path = key.split('.');
      if (!isSilent(root, path)) continue;
      const { source } = setting;
      if ('value' in setting) all = withValueAt(all, path, setting.value);
      else if (source !== undefined) mistakes.push(mistakeOf(source, setting));
      if (source !== undefined) sources.set(key, source);
    }
    return all;
  };
  const given = add(yaml.root, variables.layers[signal]);
  const profiled = add(given, profileLayer(given));
  const { layer, memory } = memoryLimits(given, readings);
  const root = add(profiled, new Map([...layer, ...dependentDefaults(profiled)]));
  const sourceOf = ([...path]: KeyPath): string | undefined => {
    for (; path.length > 0; path.pop()) {
      const source = sources.get(pathText(path));
      if (source !== undefined) return source;
    }
    return undefined;
  };
  const warnings = variables.ignored
    .filter(([key]) => isSilent(yaml.root, key.split('.')))
    .map(([, warning]) => warning);
  return { ...yaml, given, root, mistakes, sourceOf, warnings, memory };
}

function mistakeOf(key: string, { problem, hint }: Refusal): Mistake {
  return { key, message: problem, ...(hint !== undefined && { hint }) };
}

/**
 * True when there is no value: absent, or null where the key allows null. A wrong value is a value. A general endpoint
 * also stands for that of a signal in a layer below.
 */
function isSilent(root: YamlMap, path: readonly string[]): boolean {
  for (let length = 1; length < path.length; length++)
    if (!isPlainMap(valueAt(root, path.slice(0, length)) ?? {})) return false;
  if (path.at(-1)?.endsWith('_endpoint') && valueAt(root, ['otlp', 'endpoint']) !== undefined)
    return false;
  const value = valueAt(root, path);
  const kind = kindAt(CONFIG, path);
  return value === undefined || (value === null && kind !== undefined && canRead(kind, null));
}

/** A scrape ends before the next begins, and gRPC has its own port. */
function dependentDefaults(root: YamlMap): Layer {
  const layer = new Map<string, Setting>();
  const intervalMs = readAt(root, ['metrics', 'interval'], metrics.keys.intervalMs) ?? Infinity;
  const timeoutMs = readAt({}, ['api', 'timeout'], api.keys.timeoutMs) ?? 0;
  if (intervalMs < timeoutMs) layer.set('api.timeout', { value: formatDuration(intervalMs) });
  const isGrpc = readAt(root, ['otlp', 'protocol'], otlp.keys.protocol) === 'grpc';
  if (isGrpc && !hasOwnAddress(root))
    layer.set('otlp.endpoint', { value: 'http://localhost:4317' });
  return layer;
}
