import { int, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'

export const orders = process.env.DATABASE_URL.startsWith('postgres:')
  ? pgTable('orders', { id: integer().primaryKey(), name: text() })
  : mysqlTable('orders', { id: int().primaryKey(), name: varchar({ length: 255 }) })
