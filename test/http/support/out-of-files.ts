// Checks and lookups of a process that has no file descriptor left, and then has some again.
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUtilityApi, UtilityApiError, type Logger } from 'utility-api'
import { createDohClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'

/** What came of a call, and what was logged at the level `error` meanwhile. */
export interface Told {
  readonly status: number
  readonly code?: string
  readonly reason?: string
  readonly errors: readonly string[]
}

const [dnsPort = '', gamePort = ''] = process.argv.slice(2)
let errors: string[] = []
const ignore = (): void => {}
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: (message) => errors.push(message) }
const locations = [1, 2, 3].map((each) => ({
  location: `Location ${each}`,
  ip: '127.0.0.1',
  port: Number(dnsPort),
  provider: 'test',
}))

async function told(work: () => Promise<unknown>): Promise<Told> {
  errors = []
  const outcome = await work().then(
    () => ({ status: 200 }),
    (error: unknown) => {
      if (!(error instanceof UtilityApiError)) throw error
      return { status: error.status, code: error.code, ...('reason' in error && { reason: error.reason }) }
    },
  )
  return { ...outcome, errors } as Told
}

const api = createUtilityApi({
  storage: memoryStorage(),
  logger,
  dns: { locations, cacheTtlMs: 60_000, timeoutMs: 1000 },
  blockgame: {
    allowAddress: () => true,
    resolvers: [{ ip: '127.0.0.1', port: Number(dnsPort) }],
    cacheTtlMs: 60_000,
  },
})
const overHttps = createUtilityApi({
  storage: memoryStorage(),
  logger,
  dns: {
    client: createDohClient(),
    // The system looks the name up, which takes a descriptor, too.
    locations: locations.map((each) => ({ ...each, doh: `http://localhost:${dnsPort}/` })),
    cacheTtlMs: 60_000,
    timeoutMs: 1000,
  },
})
const calls = {
  check: () => api.checkDns({ domain: 'example.com', recordType: 'A' }),
  'check over HTTPS': () => overHttps.checkDns({ domain: 'example.com', recordType: 'A' }),
  lookup: () => api.lookUpGameServer({ address: `127.0.0.1:${gamePort}` }),
  'lookup by name': () => api.lookUpGameServer({ address: `mc.example.com:${gamePort}` }),
}

const taken: number[] = []
/** Takes what is free, and what the process still closes. */
async function takeAll(): Promise<void> {
  const before = taken.length
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {
    await sleep(20)
  }
  if (taken.length > before) await takeAll()
}

async function callAll(before: () => unknown): Promise<Record<string, Told>> {
  const all: [string, Told][] = []
  for (const [name, call] of Object.entries(calls)) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: none finds what another has given back
    await before()
    // oxlint-disable-next-line no-await-in-loop
    all.push([name, await told(call)])
  }
  return Object.fromEntries(all)
}

// Bun ends itself if it has no descriptor for its first request.
await fetch('http://127.0.0.1:2/').catch(ignore)
const without = await callAll(takeAll)
for (const each of taken) closeSync(each)
const again = await callAll(ignore)
console.log(JSON.stringify({ taken: taken.length, without, again }))
await Promise.all([api.close(), overHttps.close()])
