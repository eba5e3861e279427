import { copyFileSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Options } from 'tsup'

const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
  compilerOptions: { paths: Record<string, [string]> }
}

/** The entries of the package, which the paths of tsconfig.json name. */
const entry = Object.fromEntries(
  Object.entries(compilerOptions.paths).map(([specifier, [source]]) => [
    specifier === 'utility-api' ? 'index' : specifier.replace('utility-api/', ''),
    source,
  ]),
)

/** Bundled with us, so that a start reads few files, and nobody installs more than this package. */
const bundled = ['zod', 'dns-packet', '@leichtgewicht/ip-codec']

function manifestIn(folder: string): { name: string; version: string; license: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as ReturnType<typeof manifestIn>
}

function licenseOf(name: string): string {
  const folder = join('node_modules', name)
  const { version } = manifestIn(folder)
  return `${name} ${version}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`
}

/**
 * The bill of materials, for scanners that look for vulnerable packages. Without a serial number and a time, which would
 * differ in each build.
 *
 * @see {@link https://cyclonedx.org/docs/1.6/json/ | CycloneDX 1.6}
 */
function bill(): object {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentIn('.') },
    components: bundled.map((name) => componentIn(join('node_modules', name))),
  }
}

function componentIn(folder: string): object {
  const { name, version, license } = manifestIn(folder)
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { type: 'library', 'bom-ref': purl, name, version, licenses: [{ license: { id: license } }], purl }
}

/** dns-packet is CommonJS and requires `buffer`, which an ES module cannot. */
const importedBuffer: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'imported-buffer',
  setup(build) {
    build.onResolve({ filter: /^buffer$/ }, () => ({ path: 'buffer', namespace: 'imported' }))
    build.onLoad({ filter: /^buffer$/, namespace: 'imported' }, () => ({
      contents: "export { Buffer } from 'node:buffer'",
    }))
  },
}

const timeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.mtimeMs

export default defineConfig(({ outDir = 'dist' }) => {
  // The first `npx utility-api` in a clone prepares it: a build would hold the command up for half a minute, in silence.
  const { npm_command, npm_lifecycle_event } = process.env
  if (npm_command === 'exec' && npm_lifecycle_event === 'prepare' && existsSync(join(outDir, 'cli.js')))
    return []
  // By their own times: the clock of a file server may be behind, and all that is written would be removed.
  const before = globSync(join(outDir, '**/*.*')).map((file) => [file, timeOf(file)] as const)
  return {
    entry: { ...entry, cli: 'adapters/cli/main.ts' },
    format: 'esm',
    target: 'node22',
    // One copy of every class, whichever entries a program imports.
    splitting: true,
    dts: { entry },
    // What was there is removed at the end: a build that is interrupted would leave a command that does not start.
    clean: false,
    noExternal: bundled,
    esbuildPlugins: [importedBuffer],
    // Adapters and the command import the package by its name: a start reads three files less.
    external: [/^utility-api/],
    onSuccess: async () => {
      // Another build may remove it, too.
      for (const [file, time] of before) if (timeOf(file) === time) rmSync(file, { force: true })
      // What is read beside the code that reads it.
      copyFileSync('adapters/cli/serving/dev.html', join(outDir, 'dev.html'))
      writeFileSync(join(outDir, 'bundled-licenses.txt'), bundled.map(licenseOf).join('\n\n'))
      writeFileSync(join(outDir, 'sbom.cdx.json'), `${JSON.stringify(bill(), null, 2)}\n`)
    },
  }
}) as Options
