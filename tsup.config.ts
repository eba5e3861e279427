import { defineConfig, type Options } from 'tsup'

const entry = {
  index: 'src/index.ts',
  storage: 'src/storage.ts',
  dns: 'src/dns.ts',
  blockgame: 'src/blockgame.ts',
  testing: 'src/testing.ts',
  node: 'adapters/http/node.ts',
  express: 'adapters/http/express.ts',
  bun: 'adapters/http/bun.ts',
  'storage/memory': 'adapters/storage/memory.ts',
  'storage/sqlite': 'adapters/storage/sqlite.ts',
  'storage/postgres': 'adapters/storage/postgres.ts',
  'storage/mysql': 'adapters/storage/mysql.ts',
}

const config: Options = {
  entry: { ...entry, cli: 'adapters/cli/main.ts' },
  format: 'esm',
  target: 'node22',
  // One copy of every class, whichever entries a program imports.
  splitting: true,
  dts: { entry },
  sourcemap: true,
  clean: true,
}

export default defineConfig(config) as Options
