import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, type ViteUserConfig } from 'vitest/config'

/** Tests of what computes: they start no process, no server, and ask no network. */
export const quick: readonly string[] = [
  'test/{admin,bounds,domain,operations,system}/**/*.test.ts',
  'test/testing/{options,rows}.test.ts',
  'test/blockgame/{codec/*,srv-order}.test.ts',
  'test/cli/{lookups/{dns-notes,dns-table},terminal/output}.test.ts',
  'test/dns/{costly-replies,default-locations,hostile-replies,round-trip,waiting-room}.test.ts',
  'test/http/{body-reader,careless-hosts,client-secrets,dispatch,mount-options,repeated-members}.test.ts',
  'test/http/{router,side-by-side,small-promises,web-request}.test.ts',
  'test/package/{lock-file,mounting}.test.ts',
  'test/mistakes/*.test.ts',
  'test/settings.test.ts',
  'test/storage/{broken*,call-time,closing,connection-limit,find-together,memory,mysql-driver,own-adapter,postgres-driver}.test.ts',
  'test/storage/{sqlite-pages,write-together,wrong-drivers}.test.ts',
]
const long = 'test/**/*.long.test.ts'

/** How often and how long, where a test of `npm test` is repeated at length by `npm run test:long`. */
const amounts: Readonly<Record<string, number | string>> = {
  FUZZ_INPUTS: 200_000,
  KILL_ROUNDS: 6,
  LICENSE_MUTANTS: 50_000,
  LINEAR_TEXTS: 100,
  LINEAR_LENGTH: 2 ** 17,
  LOAD_SECONDS: 20,
  STORM_ROUNDS: 8,
  FREEZES: 2,
  RACE_CODES: 100,
  ALL_SURFACES: 1,
  PROPERTY_RUNS: 2000,
  REVOCATION_ROUNDS: 10,
  PAIR_STORES: 'SQLite,PostgreSQL,MySQL',
  CONTEXT_CALLS: 20_000,
  BODIES: 21,
  BODY_MOUNTS: 'Node,Express,Hono,Bun',
  TRICKLERS: 1000,
  DNS_CHANGES: 1000,
  DNS_ZONES: 10_000,
  DNS_RECORDS: 84_000,
  ABUSE_ROUNDS: 5,
  IDLE_CONNECTIONS: 5000,
  TEST_SEEDS: 5,
  SHOP_SEEDS: 2000,
  DAYS: 500,
  REPEATED_DAYS: 20,
  INTERLEAVING_FAULTS: 1,
  MATRIX_PART: 16,
  ALL_SETUPS: 1,
  LOST_FILE_ROUNDS: 100,
}
const texts = Object.entries(amounts).map(([name, amount]) => [name, process.env[name] ?? String(amount)])

const config: ViteUserConfig = {
  resolve: {
    tsconfigPaths: true,
    alias: [
      {
        find: /^\.{1,2}\/(.*\/)?timers\.ts$/,
        replacement: fileURLToPath(new URL('test/support/fakeable-timers.ts', import.meta.url)),
      },
    ],
  },
  test: {
    // For a busy machine: what hangs is found all the same, and what only waits its turn does not fail.
    testTimeout: 60_000,
    // Databases and a browser start there, on disks that may be slow or busy.
    hookTimeout: 60_000,
    // One less than there are processors, but four: much of a suite with sockets and databases is waiting.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    globalSetup: 'test/support/temporary-folder.ts',
    setupFiles: 'test/support/restore.ts',
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: [...quick],
          isolate: false,
          setupFiles: ['test/support/restore.ts', 'test/support/nothing-outside.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'short',
          include: ['test/**/*.test.ts'],
          // The files share the processes of the workers, which load everything once.
          isolate: false,
          // Tests side by side only wait: for what a server does not say.
          maxConcurrency: 50,
          exclude: [...configDefaults.exclude, 'test/peers/**', 'test/faults/**', long],
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: [
            long,
            'examples/**/*.test.ts',
            'test/faults/**/*.test.ts',
            'test/days/days.test.ts',
            'test/interleavings/interleavings.test.ts',
            'test/http/{abort,clocks-apart,connections,contexts,token-bodies,token-revocations}.test.ts',
            'test/http/{contract,idempotency,license-inputs,spec-*,token-endpoint,token-limits}.test.ts',
            'test/compat/custom-storage-1.0.test.ts',
            'test/dns/costly-replies.test.ts',
            'test/fuzz/fuzz.test.ts',
            'test/domain/dns-record-content.test.ts',
            'test/operations/dns-arrival.test.ts',
            'test/security/{license-mutants,linear-time}.test.ts',
            'test/storage/{own-adapter,postgres,sqlite,sqlite-behavior,sqlite-lost-file}.test.ts',
            'test/testing/faulty-storage.test.ts',
          ],
          env: Object.fromEntries(texts),
        },
      },
    ],
  },
}

export default config
