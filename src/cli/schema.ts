// `schema`: the JSON Schema of the configuration, for editors. Its text is also config/schema.json.

import { CONFIG } from '../config/keys.ts';
import { action, type Verb } from './verb.ts';

export const verb: Verb = {
  name: 'schema',
  summary: 'prints the JSON Schema of the configuration, for editors',
  about: `Put the schema beside the configuration, and this line at the beginning of the configuration:
    # yaml-language-server: $schema=schema.json`,
  actions: [
    action({
      options: {},
      run: (_, { out }) => {
        out.line(schemaText());
        return 0;
      },
    }),
  ],
  exits: { 0: 'printed', 2: 'a mistake on the command line' },
  examples: ['prom2otlp schema > schema.json'],
};

export function schemaText(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:prom2otlp:configuration',
    title: 'Configuration of prom2otlp',
    ...CONFIG.json(),
    type: 'object',
    required: ['api', 'services'],
  };
  return JSON.stringify(schema, null, 2);
}
