import { DatabaseSync } from 'node:sqlite'
import { createPool as createCallbackPool, type Pool as CallbackPool } from 'mysql2'
import { createPool, type Pool as MysqlPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import { createBlockgameClient, type BlockgameClient } from 'utility-api/blockgame'
import { createDnsClient, type DnsClient } from 'utility-api/dns'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'

// What a beginner has at hand, and passes in the wrong place. None of it ever connects, so nothing needs closing.

export const storage: AdminStorage = memoryStorage()
export const database: DatabaseSync = new DatabaseSync(':memory:')
export const pool: Pool = new Pool()
export const mysqlPool: MysqlPool = createPool('mysql://nobody@127.0.0.1:1/none')
export const callbackPool: CallbackPool = createCallbackPool('mysql://nobody@127.0.0.1:1/none')
export const api: UtilityApi = createUtilityApi({ storage })
export const admin: Admin = createAdmin({ storage })
export const dnsClient: DnsClient = createDnsClient()
export const blockgameClient: BlockgameClient = createBlockgameClient()
export const anyFunction = (): Response => new Response()
