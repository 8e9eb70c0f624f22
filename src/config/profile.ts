// Applies the profile of `otlp.backend`: its values are a layer below what a person has set (layers.ts), an address that
// only the account knows is required, and `check` tells the rest: each value with its reason, and what is missing.

import type { Signal } from '../model/batch.ts';
import { profileOf } from './back-ends.ts';
import type { Layer, Violation } from './declare.ts';
import { isPlainMap, isSet, type KeyPath, valueAt } from './paths.ts';

const BACKEND = ['otlp', 'backend'];

/** What messages name instead of a place in the file. */
function sourceOf(name: string): string {
  return `otlp.backend: ${name}`;
}

/** The values of the profile that the configuration names; none without a profile. */
export function profileLayer(given: unknown): Layer {
  const name = valueAt(given, BACKEND);
  const source = sourceOf(String(name));
  const values = profileOf(name)?.values ?? [];
  return new Map(values.map(({ key, value }) => [key, { value, source }]));
}

/** True when each account of the back end has an address of its own, so that no default can be right. */
export function hasOwnAddress(root: unknown): boolean {
  return profileOf(valueAt(root, BACKEND))?.endpoint !== undefined;
}

/** The address that the back end needs and nobody has set. */
export function endpointIsOwn(root: unknown, signal: Signal): Violation[] {
  const name = valueAt(root, BACKEND);
  const { title, endpoint } = profileOf(name) ?? {};
  if (endpoint === undefined || signal === 'logs') return [];
  const keys = [...endpoint.keys, 'otlp.endpoint', 'otlp.metrics_endpoint'];
  if (keys.some(key => isSet(root, key.split('.')))) return [];
  const [key = ''] = endpoint.keys;
  const problem = `${title ?? ''} has an address for each account, and \`${key}\` is missing`;
  return [{ path: BACKEND, problem, hint: `set it: ${endpoint.form}` }];
}

/** What is missing for a signal that is used, and what the back end does not take. */
export function profileWarnings(given: unknown, signal: Signal): Violation[] {
  const profile = profileOf(valueAt(given, BACKEND));
  if (profile === undefined) return [];
  const { title, needs, takesNoLogs } = profile;
  const missing = needs
    .filter(need => (need.signal ?? signal) === signal && !need.anyOf.some(isThere(given, signal)))
    .map(({ what, hint }) => ({ path: BACKEND, problem: `${title} needs ${what}`, hint }));
  const hasOwn = isSet(given, ['otlp', 'logs_endpoint']);
  if (signal !== 'logs' || takesNoLogs === undefined || hasOwn) return missing;
  const problem = `${title} takes no logs`;
  const hint = 'set `otlp.logs_endpoint` to a back end that does, or turn `logs` and `backups` off';
  return [...missing, { path: BACKEND, problem, hint }];
}

/** True for a key that has a value. A header of the signal does for a general one. */
function isThere(given: unknown, signal: Signal): (key: string) => boolean {
  return key => {
    const [, wanted] = /^otlp\.(?:\w+\.)?headers\.(.*)$/.exec(key) ?? [];
    if (wanted === undefined) return isSet(given, key.split('.'));
    const maps = [
      ['otlp', 'headers'],
      ['otlp', signal, 'headers'],
    ];
    return maps
      .map(path => valueAt(given, path))
      .some(map => isPlainMap(map) && Object.keys(map).some(name => isSame(name, wanted)));
  };
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** What the profile has set, each with its reason, and what no key can mend: sentences without a full stop. */
export function profileNotes(metrics: {
  readonly given: unknown;
  readonly sourceOf: (path: KeyPath) => string | undefined;
}): readonly string[] {
  const name = valueAt(metrics.given, BACKEND);
  const profile = profileOf(name);
  if (profile === undefined) return [];
  const isFromProfile = (key: string): boolean =>
    metrics.sourceOf(key.split('.')) === sourceOf(String(name));
  const values = profile.values
    .filter(({ key }) => isFromProfile(key))
    .map(({ key, value, reason }) => `${key} is ${String(value)}: ${reason}`);
  return [...values, ...(profile.notes ?? [])].map(text => `${profile.title}: ${text}`);
}
