import { copyFileSync, readFileSync } from 'node:fs'
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

export default defineConfig(({ outDir = 'dist' }) => ({
  entry: { ...entry, cli: 'adapters/cli/main.ts' },
  format: 'esm',
  target: 'node22',
  // One copy of every class, whichever entries a program imports.
  splitting: true,
  dts: { entry },
  sourcemap: true,
  clean: true,
  // What is read beside the code that reads it.
  onSuccess: async () => copyFileSync('adapters/cli/serving/dev.html', join(outDir, 'dev.html')),
})) as Options
