// Writes config/schema.json from the schema that the program itself uses, so that editors complete and check
// what a user types. Run it after every change of a key: `node tools/config-schema.ts`. A test sees to it.

import { writeFileSync } from 'node:fs';
import { configJsonSchema } from '../src/config/json-schema.ts';

const file = new URL('../config/schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
