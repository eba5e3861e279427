/** One code, many racers: exactly one token, whatever the storage and however many processes. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { createAdmin, createUtilityApi, type Admin } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RaceOrder, RaceResult } from './race-worker.ts'

const codes = Number(process.env['RACE_CODES'] ?? 100)
const racers = 50
const redirectUri = 'https://client.example/callback'

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
      return JSON.stringify({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        client_id: clientId,
        client_secret: clientSecret,
      })
    }),
  )
}

const folder = mkdtempSync(join(tmpdir(), 'utility-api-race-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(['memory', 'SQLite'])('one process on %s', (kind) => {
  test(`${racers} racers on each of ${codes} codes`, async () => {
    const database = new Database(join(folder, 'one.sqlite'))
    const sqlite = sqliteStorage(database)
    await sqlite.migrate()
    const storage: AdminStorage = kind === 'memory' ? memoryStorage() : sqlite
    const api = createUtilityApi({ storage, dns: false, blockgame: false })
    const bodies = await exchangeBodies(createAdmin({ storage }), codes)
    for (const body of bodies) {
      const answers = await Promise.all(
        Array.from({ length: racers }, async () => {
          const headers = { 'Content-Type': 'application/json' }
          const request = new Request('http://localhost/v4/oauth2/token', { method: 'POST', headers, body })
          return (await api.fetch(request)).status
        }),
      )
      expect(answers.filter((status) => status === 200)).toHaveLength(1)
      expect(answers.filter((status) => status === 400)).toHaveLength(racers - 1)
    }
    database.close()
  })
})

describe('two processes on one SQLite file', () => {
  const file = join(folder, 'two.sqlite')
  const database = new Database(file)
  const storage = sqliteStorage(database)
  const workers: ChildProcess[] = []

  beforeAll(async () => {
    await storage.migrate()
    const sources = fileURLToPath(new URL('../storage/sources.ts', import.meta.url))
    for (let count = 0; count < 2; count += 1) {
      workers.push(
        fork(fileURLToPath(new URL('race-worker.ts', import.meta.url)), [file], {
          execArgv: ['--import', sources],
        }),
      )
    }
    await Promise.all(workers.map((worker) => once(worker, 'message')))
  })
  afterAll(async () => {
    await Promise.all(
      workers.map((worker) => {
        const ended = once(worker, 'exit')
        worker.disconnect()
        return ended
      }),
    )
    database.close()
  })

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
        for (const [answer, count] of Object.entries(result[index] ?? {}))
          total[answer] = (total[answer] ?? 0) + count
      }
      return total
    })
  }

  function tokenRows(): number {
    const row = database
      .prepare("SELECT count(*) AS rows FROM utility_api_credentials WHERE kind = 'access_token'")
      .get()
    return (row as { rows: number }).rows
  }

  test('200 exchanges of one code: one token, 199 refusals, one row', async () => {
    const bodies = await exchangeBodies(createAdmin({ storage }), 1)
    const before = tokenRows()
    expect(await race({ racers: 100, bodies })).toStrictEqual([{ 200: 1, invalid_grant: 199 }])
    expect(tokenRows() - before).toBe(1)
  })

  test(`${racers} racers on each of ${codes} codes`, { timeout: 60_000 }, async () => {
    const bodies = await exchangeBodies(createAdmin({ storage }), codes)
    const before = tokenRows()
    const results = await race({ racers: racers / 2, bodies })
    expect(results).toStrictEqual(bodies.map(() => ({ 200: 1, invalid_grant: racers - 1 })))
    expect(tokenRows() - before).toBe(codes)
  })
})
