// `show`: what any stage of the data path makes of a file. Debugging tool, support tool and the maker of golden
// files are one.

import { showDecode } from './show-decode.ts';
import { showDerive } from './show-derive.ts';
import { showEncode } from './show-encode.ts';
import { usageError, type Verb, type VerbContext } from './verb.ts';

const STAGES: Readonly<Record<string, (context: VerbContext) => Promise<number>>> = {
  decode: showDecode,
  derive: showDerive,
  encode: showEncode,
};

export const verb: Verb = {
  summary: 'what a stage makes of a file: show decode | derive | encode',
  help: `
Usage: prom2otlp show decode --format text|openmetrics [options] FILE...
       prom2otlp show derive [--jsonl] FILE...
       prom2otlp show encode [options] FILE...

Shows what a stage of the data path makes of exposition text. FILE may be - for standard input.

decode   what the parser sees; exit 1 when a file has problems
  --format text|openmetrics   the format of the files (default text)
  --strict                    what the format's specification forbids is a problem
  --jsonl                     one JSON object per file
  --output prom2json          families in the form of the prom2json tool
  --parser reference          reads with parse-prometheus-text-format, for comparison

derive   what each series is: family, type and where it came from, unit, start; exit 1 on problems
  --jsonl                     one JSON object per series

encode   the OTLP/JSON that would be sent; several files are successive pages of one target
  --mapping semantic|strict   default semantic
  --at RFC3339                time of the first scrape (default now)
  --interval 15s              from one page to the next (default 15s)
  --service-id ID             the database service id; default each \`namespace\` found, or local

Exit: 0, 1 when a file has problems, 2 for a mistake on the command line or a file that cannot be read.

Examples:
  curl -sH "X-API-Key: $KEY" "$URL/observability/v2/metrics" | prom2otlp show derive -
  prom2otlp show decode --format text --strict page.prom
  prom2otlp show encode --at 2026-01-01T00:00:00Z --interval 60s page1.prom page2.prom`,
  run: context => {
    const [stage = '', ...args] = context.args;
    const show = Object.hasOwn(STAGES, stage) ? STAGES[stage] : undefined;
    if (show === undefined) throw usageError('show', 'expected decode, derive or encode');
    return show({ ...context, args });
  },
};
