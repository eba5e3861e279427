import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { storageContract } from '../../src/testing/storage-contract.ts'
import { missingRuntime, remotes, type Remote } from '../http/support/remote.ts'
import { startMysql, whyNoMysql } from './support/mysql-server.ts'
import { startPostgres } from './support/postgres-server.ts'

const names = storageContract(() => ({ storage: memoryStorage(), close() {} })).map(({ name }) => name)
const caseCount = names.length
/** Nothing cuts the connection to a file. */
const cutCount = names.filter((name) => /\bcut\b/.test(name)).length

/** Ways to lose a file, tried in Bun as well. */
const lossCount = 3

test('the contract suite passes in Bun, under bun:test, on bun:sqlite', () => {
  const args = ['test', './test/storage/support/contract.bun.ts']
  const { status, stderr } = spawnSync('node_modules/.bin/bun', args, { encoding: 'utf8' })
  expect(stderr).toMatch(new RegExp(`^ ${2 * caseCount + lossCount} pass$`, 'm'))
  expect(stderr).toMatch(/^ 0 fail$/m)
  expect(status).toBe(0)
}, 60_000)

test('the contract suite passes under node:test', () => {
  const args = [
    '--import',
    './test/support/sources.ts',
    '--test-reporter=tap',
    'test/storage/support/contract.node.ts',
  ]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stdout).toMatch(new RegExp(`^# pass ${caseCount - cutCount}$`, 'm'))
  expect(stdout).toMatch(/^# fail 0$/m)
  expect(status).toBe(0)
}, 60_000)

const networks = { PostgreSQL: startPostgres, MySQL: startMysql }
const runtimes = Object.keys(remotes).flatMap((runtime) =>
  Object.keys(networks).map((kind) => [kind as keyof typeof networks, runtime] as const),
)

test.for(runtimes)(
  'the contract suite passes on %s in %s, connections cut',
  { timeout: 300_000 },
  async ([kind, runtime], { skip }) => {
    const missing = missingRuntime(runtime) ?? (kind === 'MySQL' ? whyNoMysql() : null)
    if (missing !== null) skip(missing)
    const server = await networks[kind]()
    try {
      const { command, args } = remotes[runtime] as Remote
      const program = 'test/storage/support/contract-worker.ts'
      const { stdout } = await promisify(execFile)(command, [...args, program, await server.createDatabase()])
      expect(JSON.parse(stdout)).toEqual({ passed: caseCount, others: {} })
    } finally {
      await server.stop()
    }
  },
)
