// The way from a file to the Config: text, YAML tree, standard variables, schema, rules, result. All mistakes
// of all steps are collected and thrown together; nothing but an OperatorError is ever thrown.

import { dirname, resolve } from 'node:path';
import { OperatorError, type Mistake } from '../errors.ts';
import type { Signal } from '../model/batch.ts';
import type { Config } from './config.ts';
import {
  layerVariables,
  readOtelVariables,
  type LayeredTree,
  type OtelVariables,
} from './otel-variables.ts';
import { isPlainMap, type KeyPath } from './places.ts';
import { issueViolations, orderMistakes, violationMistakes, type JudgedTree } from './problems.ts';
import { resolveConfig } from './resolve.ts';
import { otlpRuleViolations, ruleViolations } from './rules.ts';
import { configSchema } from './schema.ts';
import { otlpBlock } from './schema/otlp-block.ts';
import type { TextSources } from './secrets.ts';
import { readTextFile, TEXT_FILE_BYTES_MAX, type ReadTextFile } from './text-file.ts';
import { readYamlTree, UNREADABLE, type YamlTree } from './yaml-tree.ts';

export interface LoadOptions {
  /** Shown in messages as it is given; relative paths in the file start at its directory. */
  readonly file: string;
  /** Kept: secrets that come from a variable are read again from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Reads the file and those that it refers to; the file system unless told otherwise. */
  readonly readFile?: ReadTextFile;
}

/** Reads and judges a configuration file. Throws one OperatorError with every mistake in it. */
export function loadConfig(options: LoadOptions): Config {
  const { file, readFile = readTextFile } = options;
  const found = readFile(resolve(file));
  if ('text' in found) return parseConfig(found.text, options);
  throw new OperatorError([
    {
      code: 'E_CONFIG_READ',
      message: `cannot read the configuration ${JSON.stringify(file)}: ${found.problem}`,
      hint: 'name a YAML file with `--config`; config/minimal.yaml is one to start from',
    },
  ]);
}

/** The same for a text that was read elsewhere. `options.file` need not exist. */
export function parseConfig(text: string, options: LoadOptions): Config {
  const { file, environment, readFile = readTextFile } = options;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const tree = readTree(text, file, sources);
  const variables = readOtelVariables(sources);
  const { root } = tree;
  if (!isPlainMap(root)) {
    throw new OperatorError([...tree.mistakes, ...rootMistakes(root, tree, file)]);
  }
  return judge(root, { file, tree, variables });
}

function readTree(text: string, file: string, sources: TextSources): YamlTree {
  if (Buffer.byteLength(text) > TEXT_FILE_BYTES_MAX) {
    const message = `cannot read the configuration ${JSON.stringify(file)}: the file is larger than 1 MiB`;
    throw new OperatorError([{ code: 'E_CONFIG_READ', message }]);
  }
  return readYamlTree(text.replace(/^\uFEFF/, ''), { file, sources, isFileKey });
}

/** Keys that name a PEM file: api.ca, services[].api.ca, otlp.tls.*. */
function isFileKey(path: KeyPath): boolean {
  const names = path.filter(part => typeof part === 'string').join('.');
  return /^(?:api\.ca|services\.api\.ca|otlp\.tls\.(?:ca|cert|key))$/.test(names);
}

function rootMistakes(root: unknown, { places }: YamlTree, file: string): Mistake[] {
  if (root === UNREADABLE) return [];
  const [message, hint] =
    root === null
      ? ['the file is empty', 'start from config/minimal.yaml']
      : ['expected a map of keys at the top level', 'begin with `api:` and `services:`'];
  return [{ code: 'E_CONFIG_SYNTAX', message, hint, file, ...places.ofValue([]) }];
}

interface Judged {
  readonly file: string;
  readonly tree: YamlTree;
  readonly variables: OtelVariables;
}

/** The block `otlp` is read twice, because variables may differ per signal; what repeats is shown once. */
function judge(root: Readonly<Record<string, unknown>>, { file, tree, variables }: Judged): Config {
  const layered = (signal: Signal): LayeredTree & JudgedTree => ({
    ...layerVariables(root, signal, variables),
    file,
    places: tree.places,
  });
  const metrics = layered('metrics');
  const logs = layered('logs');
  const keys = configSchema.safeParse(metrics.root);
  const logsOtlp = otlpBlock.safeParse(logs.root['otlp']);
  const mistakes = [
    ...tree.mistakes,
    ...variables.mistakes,
    ...metrics.mistakes,
    ...logs.mistakes,
    ...violationMistakes(
      [...issueViolations(keys.error, metrics.root), ...ruleViolations(metrics.root)],
      metrics,
    ),
    ...violationMistakes(
      [...issueViolations(logsOtlp.error, logs.root, ['otlp']), ...otlpRuleViolations(logs.root)],
      logs,
    ),
  ];
  if (mistakes.length > 0 || !keys.success || !logsOtlp.success) {
    throw new OperatorError(orderMistakes(mistakes));
  }
  return resolveConfig({
    file,
    root: metrics.root,
    keys: keys.data,
    logsRoot: logs.root,
    logsOtlp: logsOtlp.data,
    attributes: variables.attributes,
  });
}
