// `node tools/sbom.ts [ARCHIVE]` prints the list of components (SBOM) as CycloneDX: the packages in the bundle, with the
// versions and digests of the lock file. With the archive of an image (tools/release/image.sh), it is the list of that
// image, with its Node.js and C libraries.

import { readFileSync } from 'node:fs';
import { bundled, manifest, partsOf } from './bundle.ts';
import { imageParts } from './image-parts.ts';

const { packages } = JSON.parse(
  readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
) as { packages: Readonly<Record<string, { version: string; integrity: string } | undefined>> };

const urlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

const [archive] = process.argv.slice(2);
const ofProgram = partsOf(await bundled({ write: false })).map(
  ({ name, version, license, place }) => {
    const locked = packages[place];
    if (locked?.version !== version)
      throw new Error(
        `cannot list ${name} ${version}: the lock file has ${locked?.version ?? 'none'}`,
      );
    const [algorithm = '', digest = ''] = locked.integrity.split('-');
    const purl = urlOf(name, version);
    return {
      type: 'library',
      'bom-ref': purl,
      name,
      version,
      purl,
      licenses: [{ license: { id: license } }],
      hashes: [
        {
          alg: algorithm.replace('sha', 'SHA-'),
          content: Buffer.from(digest, 'base64').toString('hex'),
        },
      ],
    };
  },
);
const ofImage = archive === undefined ? [] : imageParts(archive);
const components = [
  ...ofProgram,
  ...ofImage.map(part => ({ type: 'library', 'bom-ref': part.purl, ...part })),
];
const purl = urlOf(manifest.name, manifest.version);
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: {
      type: archive === undefined ? 'application' : 'container',
      'bom-ref': purl,
      name: manifest.name,
      version: manifest.version,
      purl,
      licenses: [{ license: { id: manifest.license } }],
    },
  },
  components,
  dependencies: [{ ref: purl, dependsOn: components.map(component => component.purl) }],
};
console.log(JSON.stringify(bom, null, 2));
