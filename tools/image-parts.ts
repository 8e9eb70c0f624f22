// The components that an image has beside the program: Node.js, by the name of the base image, and the Debian packages of
// its C libraries, which the Dockerfile lists in /var/lib/dpkg/status.d. Reads the archive of tools/release/image.sh.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ImagePart {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
}

/** An index of images has `manifests`, an image has `config` and `layers`. */
interface Document {
  readonly manifests?: readonly Descriptor[];
  readonly config?: { readonly digest: string };
  readonly layers?: readonly Descriptor[];
}

const PACKAGES = 'var/lib/dpkg/status.d/';
const LISTING_MAX_BYTES = 64 * 1024 * 1024;

/** Throws if an image of the archive does not tell its parts. */
export function imageParts(archive: string): readonly ImagePart[] {
  const folder = mkdtempSync(join(tmpdir(), 'prom2otlp-image-'));
  try {
    tar('--extract', '--file', archive, '--directory', folder);
    const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Document;
    const parts = imagesOf(folder, index).flatMap(image => partsOf(folder, image));
    return [...new Map(parts.map(part => [part.purl, part])).values()];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const blob = (folder: string, digest: string): string =>
  join(folder, 'blobs', digest.replace(':', '/'));

function tar(...args: readonly string[]): string {
  return execFileSync('tar', [...args], { encoding: 'utf8', maxBuffer: LISTING_MAX_BYTES });
}

/** The images below an index. A builder's own attestation has the architecture `unknown`. */
function imagesOf(folder: string, { manifests = [] }: Document): readonly Document[] {
  return manifests
    .filter(({ platform }) => platform?.architecture !== 'unknown')
    .map(({ digest }) => JSON.parse(readFileSync(blob(folder, digest), 'utf8')) as Document)
    .flatMap(found => (found.manifests === undefined ? [found] : imagesOf(folder, found)));
}

function partsOf(folder: string, { config, layers = [] }: Document): readonly ImagePart[] {
  const { architecture, config: settings } = JSON.parse(
    readFileSync(blob(folder, config?.digest ?? ''), 'utf8'),
  ) as { architecture: string; config: { Labels?: Record<string, string> } };
  const base = settings.Labels?.['org.opencontainers.image.base.name'] ?? '';
  const node = /node:(\d+\.\d+\.\d+)-/.exec(base)?.[1];
  const libraries = layers.flatMap(({ digest }) => debianPackages(blob(folder, digest)));
  if (node === undefined || libraries.length === 0)
    throw new Error(
      `cannot list the parts of the image for ${architecture}: its base is '${base}', and it has ` +
        `${libraries.length} files in /${PACKAGES}; build it by tools/release/image.sh`,
    );
  return [{ name: 'node', version: node, purl: `pkg:generic/node@${node}` }, ...libraries];
}

function debianPackages(layer: string): readonly ImagePart[] {
  const files = tar('--list', '--file', layer)
    .split('\n')
    .filter(name => name.includes(PACKAGES) && !name.endsWith('/'));
  if (files.length === 0) return [];
  return tar('--extract', '--to-stdout', '--file', layer, ...files)
    .split('\n\n')
    .filter(text => text.includes('Package: '))
    .map(text => {
      const field = (name: string): string =>
        new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1] ?? '';
      const [name, version, architecture] = ['Package', 'Version', 'Architecture'].map(field);
      const where = `${encodeURIComponent(name ?? '')}@${encodeURIComponent(version ?? '')}`;
      const purl = `pkg:deb/debian/${where}?arch=${architecture ?? ''}`;
      return { name: name ?? '', version: version ?? '', purl };
    });
}
