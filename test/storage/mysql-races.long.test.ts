import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from './support/call.ts'
import { execute, makePool, startMysql, whyNoMysql, type MysqlServer } from './support/mysql-server.ts'
import { newCode, newToken } from './support/rows.ts'

// Longer: TEST_RACES=10000 and TEST_CRASHES=5.
const codeCount = Number(process.env['TEST_RACES'] ?? 200)
const crashes = Number(process.env['TEST_CRASHES'] ?? 1)

const hashOf = (text: string): Uint8Array => hash('sha256', text, 'buffer')
const reason = whyNoMysql()

describe.skipIf(reason)('MySQL, several processes at once', () => {
  let server: MysqlServer
  let url: string

  beforeAll(async () => {
    server = await startMysql()
    url = await server.createDatabase()
    const pool = makePool(url)
    await mysqlStorage(pool).migrate()
    await pool.end()
  }, 60_000)
  afterAll(() => server?.stop(), 60_000)

  /** What two processes won together. */
  async function race(work: string, count: number): Promise<number> {
    const won = ['a', 'b'].map(async (name) => {
      const args = ['--import', './test/support/sources.ts', 'test/storage/support/mysql-race-worker.ts']
      const run = promisify(execFile)(process.execPath, [...args, url, work, '0', String(count), name])
      return Number((await run).stdout)
    })
    return (await Promise.all(won)).reduce((sum, each) => sum + each)
  }

  async function rowsIn(table: string): Promise<number> {
    const [row] = (await execute(url, `SELECT count(*) AS count FROM utility_api_${table}`)) as {
      count: number
    }[]
    return Number(row?.count)
  }

  test(`${codeCount} codes, twenty racers each: one token for each code`, async () => {
    const pool = makePool(url)
    const storage = mysqlStorage(pool)
    for (let index = 0; index < codeCount; index += 1)
      // oxlint-disable-next-line no-await-in-loop -- a few hundred
      await storage.insertAuthorizationCode(hashOf(`code-${index}`), newCode('c'), call)
    await pool.end()
    expect(await race('redeem', codeCount)).toBe(codeCount)
    expect(await rowsIn('credentials')).toBe(codeCount)
  }, 1_000_000)

  test('500 generations with 50 idempotency keys: 50 licenses', async () => {
    expect(await race('generate', 250)).toBe(50)
    expect(await rowsIn('licenses')).toBe(50)
    expect(await rowsIn('idempotency_keys')).toBe(50)
  }, 60_000)

  test('a server killed under load loses no acknowledged write and leaves none half done', async ({
    skip,
  }) => {
    const { crash } = server
    if (crash === undefined) return skip('the server is not ours to kill')
    const pool = makePool(url, { connectionLimit: 20 })
    const storage = mysqlStorage(pool)
    for (let round = 0; round < crashes; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- crash after crash
      await crashUnderLoad(storage, round, crash)
    }
    await pool.end()
  }, 1_000_000)
})

/** Exchanges and generations until the server is gone, then looks for all that was answered. */
async function crashUnderLoad(
  storage: ReturnType<typeof mysqlStorage>,
  round: number,
  crash: () => Promise<void>,
): Promise<void> {
  const names = Array.from({ length: 400 }, (_, index) => `crash-${round}-${index}`)
  for (const name of names)
    // oxlint-disable-next-line no-await-in-loop -- a few hundred
    await storage.insertAuthorizationCode(hashOf(name), newCode('c'), call)
  let answered = 0
  let killed: Promise<void> | undefined
  const done = names.map(async (name) => {
    const token = newToken(name, hashOf(name))
    const redeemed = Promise.resolve(storage.redeemAuthorizationCode(hashOf(name), 5, token, call))
    const won = await redeemed.catch(() => null)
    answered += 1
    if (answered === 100) killed = crash()
    return won
  })
  const outcomes = await Promise.all(done)
  await killed
  const codes = await Promise.all(names.map((name) => storage.findAuthorizationCode(hashOf(name), call)))
  const tokens = await Promise.all(
    names.map((name) => storage.findCredential('access_token', hashOf(name), call)),
  )
  expect(codes.map((found) => found?.redeemedAt === 5)).toEqual(tokens.map((found) => found !== null))
  const lost = outcomes.filter((won, index) => won === true && tokens[index] === null)
  expect(lost).toEqual([])
  expect(outcomes.filter((won) => won === true).length).toBeGreaterThanOrEqual(99)
}
