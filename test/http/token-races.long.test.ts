/** One code, many racers: exactly one token, whatever the storage and however many processes. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAdmin, createUtilityApi, type Admin } from 'utility-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type PostgresServer } from '../storage/support/postgres-server.ts'
import { openRaceStore, type RaceStore } from './support/race-store.ts'
import type { RaceOrder, RaceResult } from './support/race-worker.ts'
import { grantFields } from './support/grant.ts'

const codes = Number(process.env['RACE_CODES'] ?? 20)
const racers = 50
const redirectUri = 'https://client.example/callback'

const folder = mkdtempSync(join(tmpdir(), 'utility-api-race-'))
let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
}, 60_000)
afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function exchangeBodies(admin: Admin, count: number): Promise<string[]> {
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { code } = await admin.issueAuthorizationCode({
        clientId,
        redirectUri,
        scope: '',
        lifetimeSeconds: 600,
      })
      return JSON.stringify(grantFields({ clientId, clientSecret }, code, redirectUri))
    }),
  )
}

describe('one process', () => {
  const targets: Record<string, () => Promise<string>> = {
    SQLite: async () => join(folder, 'one.sqlite'),
    PostgreSQL: () => postgres.createDatabase(),
  }

  test.each(Object.entries(targets))(
    `${racers} racers on each of ${codes} codes, on %s`,
    async (_, target) => {
      const { storage, migrate, tokenRows, close } = openRaceStore(await target())
      await migrate()
      const api = createUtilityApi({ storage, dns: false, blockgame: false })
      for (const body of await exchangeBodies(createAdmin({ storage }), codes)) {
        const answers = await Promise.all(
          Array.from({ length: racers }, async () => {
            const headers = { 'Content-Type': 'application/json' }
            const request = new Request('http://localhost/v4/oauth2/token', { method: 'POST', headers, body })
            return (await api.fetch(request)).status
          }),
        )
        expect(answers.toSorted()).toStrictEqual([200, ...Array.from({ length: racers - 1 }, () => 400)])
      }
      expect(await tokenRows()).toBe(codes)
      await close()
    },
    60_000,
  )
})

describe.each(['SQLite', 'PostgreSQL'])('two processes on one %s', (kind) => {
  let store: RaceStore
  let workers: ChildProcess[]

  beforeAll(async () => {
    const target = kind === 'SQLite' ? join(folder, 'two.sqlite') : await postgres.createDatabase()
    store = openRaceStore(target)
    await store.migrate()
    const sources = fileURLToPath(new URL('../support/sources.ts', import.meta.url))
    const program = fileURLToPath(new URL('./support/race-worker.ts', import.meta.url))
    workers = [1, 2].map(() => fork(program, [target], { execArgv: ['--import', sources] }))
    await Promise.all(workers.map((worker) => once(worker, 'message')))
  }, 60_000)
  afterAll(async () => {
    await Promise.all(
      workers.map((worker) => {
        const ended = once(worker, 'exit')
        worker.disconnect()
        return ended
      }),
    )
    await store.close()
  })

  /** Both processes exchange the same codes at once; the answers of both together, code by code. */
  async function race(order: RaceOrder): Promise<Record<string, number>[]> {
    const results = await Promise.all(
      workers.map(async (worker) => {
        const answered = once(worker, 'message')
        worker.send(order)
        const [result] = (await answered) as [RaceResult]
        return result
      }),
    )
    return order.bodies.map((_, index) => {
      const total: Record<string, number> = {}
      for (const result of results) {
        for (const [answer, count] of Object.entries(result[index] ?? {})) {
          total[answer] = (total[answer] ?? 0) + count
        }
      }
      return total
    })
  }

  test('200 exchanges of one code: one token, 199 refusals, one row', async () => {
    const bodies = await exchangeBodies(createAdmin({ storage: store.storage }), 1)
    expect(await race({ racers: 100, bodies })).toStrictEqual([{ 200: 1, invalid_grant: 199 }])
    expect(await store.tokenRows()).toBe(1)
  })

  test(`${racers} racers on each of ${codes} codes`, async () => {
    const bodies = await exchangeBodies(createAdmin({ storage: store.storage }), codes)
    const before = await store.tokenRows()
    const results = await race({ racers: racers / 2, bodies })
    expect(results).toStrictEqual(bodies.map(() => ({ 200: 1, invalid_grant: racers - 1 })))
    expect((await store.tokenRows()) - before).toBe(codes)
  }, 60_000)
})
