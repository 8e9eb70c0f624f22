// A registry of npm on loopback: it takes `npm publish`, and serves what was published to `npm install`. It keeps packages
// in memory, for one test, and wants the token of the test for a publication.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What `npm publish` sends: the document of a package, with one version and its archive. */
interface Publication {
  readonly name: string;
  readonly versions: Readonly<Record<string, { readonly dist: { tarball: string } }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

export interface NpmRegistry {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  close(): Promise<void>;
}

export async function startNpmRegistry(token: string): Promise<NpmRegistry> {
  const documents = new Map<string, Omit<Publication, '_attachments'>>();
  const archives = new Map<string, Buffer>();
  let url = '';

  async function publish(request: IncomingMessage): Promise<[number, object]> {
    if (request.headers.authorization !== `Bearer ${token}`) return [401, { error: 'no token' }];
    const { _attachments, ...document } = (await json(request)) as Publication;
    for (const [file, { data }] of Object.entries(_attachments))
      archives.set(`/${document.name}/-/${file}`, Buffer.from(data, 'base64'));
    for (const [version, { dist }] of Object.entries(document.versions))
      dist.tarball = `${url}/${document.name}/-/${document.name}-${version}.tgz`;
    documents.set(`/${document.name}`, document);
    return [201, { ok: true }];
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const archive = archives.get(path);
    if (archive !== undefined) {
      response.end(archive);
      return;
    }
    const document = documents.get(path);
    const [status, body] =
      request.method === 'PUT'
        ? await publish(request)
        : ([document === undefined ? 404 : 200, document ?? { error: 'not found' }] as const);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
