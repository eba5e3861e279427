// One of several processes on one database: waits for its turn to start, races, and prints what it won as JSON.
import { newLicense } from './license.ts'
import { hash } from 'node:crypto'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { call } from './call.ts'
import { makePool } from './mysql-server.ts'
import { newToken } from './rows.ts'

const [url = '', work = '', from = '0', to = '0', name = ''] = process.argv.slice(2)
const pool = makePool(url, { connectionLimit: 20 })
const storage = mysqlStorage(pool)
const hashOf = (text: string): Uint8Array => hash('sha256', text, 'buffer')

/** Ten racers of this process for each code: how many tokens they got. */
async function redeemAll(): Promise<number> {
  let won = 0
  for (let code = Number(from); code < Number(to); code += 1) {
    const racers = Array.from({ length: 10 }, (_, racer) => {
      const id = `${name}-${code}-${racer}`
      return storage.redeemAuthorizationCode(hashOf(`code-${code}`), 5, newToken(id, hashOf(id)), call)
    })
    // oxlint-disable-next-line no-await-in-loop -- code after code, so that both processes are at the same one
    won += (await Promise.all(racers)).filter(Boolean).length
  }
  return won
}

/** Generations with few idempotency keys: how many licenses were inserted. */
async function generateAll(): Promise<number> {
  const results = Array.from({ length: Number(to) - Number(from) }, (_, index) => {
    const key = {
      resellerId: 'r',
      keyHash: hashOf(`key-${index % 50}`),
      requestHash: hashOf('r'),
      at: 1,
      expiresAt: 9,
    }
    return storage.insertLicense(newLicense(`${name}-${index}`), key, call)
  })
  return (await Promise.all(results)).filter((result) => result === 'inserted').length
}

const won = await (work === 'redeem' ? redeemAll() : generateAll())
process.stdout.write(String(won))
await pool.end()
