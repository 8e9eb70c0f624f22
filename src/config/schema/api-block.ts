// `api` and `services`: how the service is reached, and which databases are expected there. An entry's own
// `api` has the same keys, none of which has a default there: what it leaves out is the global block's.

import * as z from 'zod';
import type { ApiConfig } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { baseUrl, headers, proxyUrl } from './addresses.ts';
import { block, keyName, list, mapOf } from './containers.ts';
import { duration, flag, text } from './scalars.ts';
import { certificates, headerValue } from './secret-values.ts';

/** What one `api` block says; what it leaves out is undefined. */
export type ApiKeys = { readonly [Key in keyof ApiConfig]: ApiConfig[Key] | undefined };

/** One entry of `services` before it is merged with the global `api`. */
export interface ServiceEntry {
  readonly id: string;
  readonly name: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  readonly api: ApiKeys;
}

const HOUR_MS = 3_600_000;

/** What the client of the service sets itself, beside what no client can set (addresses.ts). */
const REFUSED_HEADERS: Readonly<Record<string, string>> = {
  'x-api-key': 'use `key` instead',
  accept: 'remove it; the program sets it itself',
  'accept-encoding': 'remove it; the program sets it itself',
  'proxy-authorization': 'write user and password into the URL of `proxy`',
};

const keys = {
  base_url: baseUrl('the http or https URL of the service').describe(
    'Address of the service. All paths are appended to it; the key goes to this origin only.',
  ),
  key: headerValue('the API key').describe(
    'API key, sent as X-API-Key. Preferably `${file:/path}` or `${env:NAME}`; it never appears in any output.',
  ),
  headers: headers(REFUSED_HEADERS).describe(
    'Further request headers, for example to choose a region. Their values are kept secret.',
  ),
  timeout: duration({ max: HOUR_MS }).describe(
    'Timeout of one request. At most metrics.interval; a shorter interval shortens the default.',
  ),
  ca: certificates()
    .nullable()
    .describe("PEM file with the certificates to trust instead of the system's."),
  proxy: proxyUrl().nullable().describe('URL of an HTTP proxy for requests to the service.'),
  insecure: flag().describe('true allows sending the key over plain http beyond this machine.'),
};

const defaults = DEFAULTS.api;

export const apiBlock: z.ZodType<ApiKeys> = block({
  base_url: keys.base_url,
  key: keys.key.optional(),
  headers: keys.headers.prefault(defaults.headers),
  timeout: keys.timeout.prefault(defaults.timeout),
  ca: keys.ca.prefault(defaults.ca),
  proxy: keys.proxy.prefault(defaults.proxy),
  insecure: keys.insecure.prefault(defaults.insecure),
})
  .transform(toApiKeys)
  .describe('The service that prom2otlp reads metrics and logs from.');

const ownApiBlock = block({
  base_url: keys.base_url.optional(),
  key: keys.key.optional(),
  headers: keys.headers.optional(),
  timeout: keys.timeout.optional(),
  ca: keys.ca.optional(),
  proxy: keys.proxy.optional(),
  insecure: keys.insecure.optional(),
})
  .transform(toApiKeys)
  .describe('Any key of the global `api`, for this service alone. Headers add to the global ones.');

function toApiKeys(
  read: {
    [Key in keyof typeof keys]?: z.output<(typeof keys)[Key]> | undefined;
  },
): ApiKeys {
  return {
    baseUrl: read.base_url,
    key: read.key,
    headers: read.headers,
    timeoutMs: read.timeout,
    ca: read.ca,
    proxy: read.proxy,
    isInsecureAllowed: read.insecure,
  };
}

const RESERVED_ATTRIBUTES: Readonly<Record<string, string>> = {
  'service.name': 'use `name` of the entry',
  'service.instance.id': 'it is always the id of the entry',
};

const attributeName = keyName(name => {
  const hint = RESERVED_ATTRIBUTES[name];
  return hint === undefined ? undefined : { problem: `${name} cannot be set here`, hint };
});

const entryBlock: z.ZodType<ServiceEntry> = block({
  id: text({
    expected: 'the id of a database service',
    pattern: /^[^\s,]+$/,
  }).describe('Id of the database service: the label `namespace` of its series.'),
  name: text().optional().describe('Name that the back end shows (service.name). Default: the id.'),
  attributes: mapOf(attributeName, text({ isEmptyLegal: true }))
    .prefault(DEFAULTS.service.attributes)
    .describe('Further attributes of the Resource: texts only.'),
  api: ownApiBlock,
}).transform(({ id, name, attributes, api }) => ({ id, name, attributes, api }));

export const servicesList: z.ZodType<readonly ServiceEntry[]> = list(entryBlock).describe(
  'The database services to read: one entry each. At least one.',
);
