import { type SqliteDatabase } from 'utility-api/storage/sqlite'
import { describe, expect, test } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { newCredential } from './support/rows.ts'
import { drivers, fileOf, migrated } from './support/sqlite-files.ts'

/** A connection on which the next statements of these texts find the disk broken, each once. */
function breaking(database: SqliteDatabase): {
  readonly database: SqliteDatabase
  readonly broken: string[]
} {
  const broken: string[] = []
  return {
    broken,
    database: {
      exec(sql) {
        if (broken[0] !== sql) return database.exec(sql)
        broken.shift()
        throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR', errcode: 10 })
      },
      prepare: (sql) => database.prepare(sql),
      get isTransaction() {
        return database.isTransaction === true || database.inTransaction === true
      },
    },
  }
}

describe.each(drivers)('%s', (_, openPath) => {
  const openFile = (): ReturnType<typeof fileOf> => fileOf(openPath)

  test.each([
    ['COMMIT', ['COMMIT']],
    ['COMMIT and ROLLBACK', ['COMMIT', 'ROLLBACK']],
  ])(
    'a transaction for whose %s the disk is broken is not taken for one of the host later',
    async (_each, steps) => {
      const { database, broken } = breaking(openFile().open())
      const storage = await migrated(database)
      broken.push(...steps)
      expect(await storage.findLicense('a', call)).toBeNull()
      expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
      broken.push(...steps)
      expect((await errorOf(() => storage.insertLicense(newLicense('b'), undefined, call))).kind).toBe(
        'unavailable',
      )
      expect(await storage.findLicense('b', call)).toBeNull()
      expect(await storage.insertLicense(newLicense('b'), undefined, call)).toBe('inserted')
      expect(broken).toEqual([])
    },
  )

  test('a write that finds the row of a neighbor is not refused if the neighbor is not committed', async () => {
    const { database, broken } = breaking(openFile().open())
    const storage = await migrated(database)
    const insert = (byte: number): Promise<unknown> =>
      errorOf(async () =>
        storage.insertCredential('api_key', new Uint8Array(32).fill(byte), newCredential('same'), call),
      ).then(({ kind }) => kind)
    broken.push('COMMIT')
    expect(await Promise.all([insert(1), insert(2)])).toEqual(['unavailable', 'unavailable'])
    expect(await storage.findCredential('api_key', new Uint8Array(32).fill(1), call)).toBeNull()
  })
})
