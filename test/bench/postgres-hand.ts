import type { Pool, QueryResult } from 'pg'
import * as sql from '../../adapters/storage/postgres/sql.ts'
import type { DatabaseByHand } from './storage-by-hand.ts'

/** PostgreSQL through `pg` by hand, each statement with a name. */
export function postgresByHand(pool: Pool): DatabaseByHand {
  function run<Row extends object>(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    return pool.query<Row>({ name, text, values: [...values] })
  }
  async function one<Row extends object>(
    name: string,
    text: string,
    ...values: readonly unknown[]
  ): Promise<Row | undefined> {
    return (await run<Row>(name, text, values)).rows[0]
  }
  async function changesOne(name: string, text: string, ...values: readonly unknown[]): Promise<boolean> {
    return (await run(name, text, values)).rowCount === 1
  }
  return {
    findClient: (clientId) => one('client', sql.findClient.one, clientId),
    findCode: (hash) => one('code', sql.findCode.one, hash),
    redeemCode: (codeHash, at, _, token) => changesOne('redeem', sql.redeemCode, codeHash, at, ...token),
    findReseller: async (hash) => {
      const found = await one<{ owner_id: string }>(
        'credential',
        sql.findCredential.one,
        hash,
        'reseller_token',
      )
      return found?.owner_id
    },
    insertLicense: (license) => run('insert', sql.insertLicense, license),
    renameLicense: (key, reseller, at, name) =>
      changesOne('update', sql.updateLicense, key, reseller, at, name, null, null, null),
  }
}
