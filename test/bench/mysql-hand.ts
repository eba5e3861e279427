import type { Connection, Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { boughtTokenColumns, placeholders } from '../../adapters/storage/shared/rows.ts'
import * as sql from '../../adapters/storage/mysql/sql.ts'
import type { DatabaseByHand } from './storage-by-hand.ts'

type Values = Parameters<Connection['execute']>[1]

const spendCode =
  'UPDATE utility_api_codes SET redeemed_at = ?, token_hash = ? WHERE hash = ? AND redeemed_at IS NULL'
const insertToken = `
  INSERT INTO utility_api_credentials (kind, ${boughtTokenColumns})
  VALUES ('access_token', ${placeholders(boughtTokenColumns)})`

/** MariaDB through `mysql2` by hand, each statement prepared. */
export function mysqlByHand(pool: Pool): DatabaseByHand {
  async function one<Row>(text: string, ...values: readonly unknown[]): Promise<Row | undefined> {
    const [rows] = await pool.execute<RowDataPacket[]>(text, values as Values)
    return rows[0] as Row | undefined
  }
  async function changesOne(
    connection: Pick<Connection, 'execute'>,
    text: string,
    ...values: readonly unknown[]
  ): Promise<boolean> {
    const [{ affectedRows }] = await connection.execute<ResultSetHeader>(text, values as Values)
    return affectedRows === 1
  }
  return {
    findClient: (clientId) => one(sql.findClient(1).text, clientId),
    findCode: (hash) => one(sql.findCode(1).text, hash),
    redeemCode: async (codeHash, at, tokenHash, token) => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const isSpent = await changesOne(connection, spendCode, at, tokenHash, codeHash)
        if (isSpent) await changesOne(connection, insertToken, ...token)
        await connection.commit()
        return isSpent
      } finally {
        connection.release()
      }
    },
    findReseller: async (hash) => {
      const found = await one<{ owner_id: string }>(sql.findCredential('reseller_token')(1).text, hash)
      return found?.owner_id
    },
    insertLicense: (license) => pool.execute(sql.insertLicense, license as Values),
    renameLicense: (key, reseller, at, name) =>
      changesOne(pool, sql.updateLicense, name, null, null, null, at, key, reseller),
  }
}
