import { configDefaults, type ViteUserConfig } from 'vitest/config'

const long = 'test/**/*.long.test.ts'

/** How often and how long, where a test of `npm test` is repeated at length by `npm run test:long`. */
const amounts: Readonly<Record<string, number | string>> = {
  FUZZ_INPUTS: 150_000,
  KILL_ROUNDS: 6,
  LOAD_SECONDS: 20,
  STORM_ROUNDS: 8,
  FREEZES: 2,
  RACE_CODES: 100,
  BODIES: 21,
  BODY_MOUNTS: 'Node,Express,Hono,Bun',
  TRICKLERS: 1000,
  DNS_REPLIES: 300_000,
  TEST_SEEDS: 5,
  MATRIX_PART: 8,
}
const texts = Object.entries(amounts).map(([name, amount]) => [name, process.env[name] ?? String(amount)])

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  test: {
    testTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/peers/**', 'test/faults/**', long],
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: [
            long,
            'test/faults/**/*.test.ts',
            'test/http/{bodies,token-races}.test.ts',
            'test/dns/hostile-replies.test.ts',
            'test/storage/fault-matrix.test.ts',
          ],
          env: Object.fromEntries(texts),
        },
      },
    ],
  },
}

export default config
