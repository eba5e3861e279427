import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { testContract } from './support/register.ts'
import { openTwice } from './support/sqlite-fixture.ts'

testContract('SQLite through node:sqlite', () => openTwice((path) => new DatabaseSync(path)))
// In the long tests: what differs between the drivers is in sqlite-behavior.test.ts.
if (process.env['ALL_SETUPS'] !== undefined)
  testContract('SQLite through better-sqlite3', () => openTwice((path) => new Database(path)))
