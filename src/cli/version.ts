// `version`: which program, on which Node, from which commit.

import { programCommit, programVersion } from '../lib/version.ts';
import { readOptions, type Verb } from './verb.ts';

const VERB = 'version';

export const verb: Verb = {
  summary: 'version, Node, commit',
  help: `
Usage: prom2otlp version

Prints the versions of the program and of Node.js, and the commit of the build.`,
  run: context => {
    readOptions(VERB, context.args, {});
    const commit = programCommit();
    const node = `node ${process.version}`;
    const origin = commit === '' ? 'commit unknown' : `commit ${commit.slice(0, 12)}`;
    context.out.line(`prom2otlp ${programVersion()} (${node}, ${origin})`);
    return Promise.resolve(0);
  },
};
