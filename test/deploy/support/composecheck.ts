// test/deploy/go/composecheck: reads a compose file by the schema of the compose specification, offline.

import { join } from 'node:path';
import { checkoutFolder } from '../../real/support/folder.ts';
import { goBuild } from '../../real/support/go-build.ts';
import { need, type Preparable } from '../../real/support/part.ts';
import { run } from '../../real/support/process.ts';

export const composecheck: Preparable = {
  name: 'composecheck',
  prepare: () =>
    goBuild({
      name: 'composecheck',
      moduleFolder: join(checkoutFolder, 'test/deploy/go'),
      package: './composecheck',
      versionOf: 'github.com/compose-spec/compose-go/v2',
      sources: ['composecheck/main.go'],
    }),
};

/** The project as compose resolves it: with absolute paths. */
export interface ComposeProject {
  readonly services: Readonly<Record<string, ComposeService>>;
}

export interface ComposeService {
  readonly image: string;
  readonly hostname?: string;
  readonly build?: { readonly context: string };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly volumes?: readonly { type: string; source: string; target: string }[];
  readonly secrets?: unknown;
  readonly ports?: readonly { host_ip?: string; target: number }[];
}

/** Throws composecheck's message if the file is not valid. */
export async function checkCompose(file: string): Promise<ComposeProject> {
  const { path } = await need(composecheck);
  return JSON.parse(await run(path, [file])) as ComposeProject;
}
