import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createAdmin } from 'utility-api'
import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { steps } from '../../../adapters/storage/postgres/schema-steps.ts'
import {
  execute,
  makePool,
  startPostgres,
  type PostgresServer,
} from '../../storage/support/postgres-server.ts'
import { withStep } from '../../storage/support/steps.ts'
import { startBalancer, type Balancer } from '../support/balancer.ts'
import { firstLine, start } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { eventually } from '../../support/eventually.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

let postgres: PostgresServer
let database: string
let token: string
let balancer: Balancer | undefined
const children = new Set<ChildProcess>()

beforeAll(async () => {
  postgres = await startPostgres()
  database = await postgres.createDatabase()
  const pool = makePool(database)
  const storage = postgresStorage(pool)
  await storage.migrate()
  token = (await createAdmin({ storage }).createReseller()).token
  await pool.end()
}, 60_000)

afterAll(async () => {
  children.forEach((child) => child.kill('SIGKILL'))
  await balancer?.close()
  await postgres.stop()
})

interface Server {
  readonly port: number
  /** How many licenses its log says it has made. */
  made(): number
  stop(): Promise<unknown>
}

function startCommand(port: number): ChildProcess {
  const args = ['serve', '--port', String(port), '--drain', '2', '--trust-proxy', '1', '--log', 'json']
  return start(args, { UTILITY_API_DATABASE: database })
}

async function startServer(port = 0): Promise<Server> {
  const child = startCommand(port)
  children.add(child)
  let log = ''
  child.stderr?.on('data', (chunk) => (log += String(chunk)))
  const line = await firstLine(child)
  return {
    port: Number(new URL(line.replace('Listening on ', '')).port),
    made: () => log.split('\n').filter((entry) => /"generateLicense".*"status":200/.test(entry)).length,
    async stop() {
      child.kill('SIGTERM')
      const exit: unknown = await once(child, 'close')
      children.delete(child)
      return exit
    },
  }
}

/** Generates a license; resolves with what went wrong, null for nothing. */
function generate(agent: Agent, port: number): Promise<string | null> {
  const headers = licenseHeaders(token)
  return new Promise((resolve) => {
    const path = '/v2/reseller/licenses/generate'
    const sent = request(
      { agent, port, path, headers, host: '127.0.0.1', method: 'POST' },
      async (answer) => {
        const body = await text(answer).catch(String)
        resolve(answer.statusCode === 200 ? null : `${answer.statusCode} ${body}`)
      },
    )
    sent.on('error', (error) => resolve(error.message)).end()
  })
}

test('two servers are replaced behind a balancer, and a step is taken between, without one failed request', async ({
  task,
}) => {
  const [first, second] = await Promise.all([startServer(), startServer()])
  const ports = [first.port, second.port]
  const behind = (balancer = await startBalancer(ports))
  const bothHealthy = (): Promise<void> => eventually(() => expect(behind.healthy()).toEqual(ports))
  await bothHealthy()

  const stopped = new AbortController()
  let sent = 0
  const failures: string[] = []
  const clients = [true, true, false, false].map(async (keepAlive) => {
    const agent = new Agent({ keepAlive, maxSockets: 1 })
    while (!stopped.signal.aborted) {
      sent += 1
      const failure = await generate(agent, behind.port)
      if (failure !== null) failures.push(failure)
    }
    agent.destroy()
  })

  await eventually(() => expect([first.made() > 10, second.made() > 10]).toEqual([true, true]), {
    timeout: 10_000,
  })
  expect(await first.stop()).toEqual([0, null])
  const step = 'ALTER TABLE utility_api_licenses ADD COLUMN planted text'
  await withStep(steps, step, async () =>
    expect(await runHere(['migrate'], { UTILITY_API_DATABASE: database })).toMatchObject({ code: 0 }),
  )
  expect(await execute(database, 'SELECT * FROM utility_api_schema')).toEqual([{ version: 1, step: 2 }])
  const third = await startServer(first.port)
  await bothHealthy()
  expect(await second.stop()).toEqual([0, null])
  const fourth = await startServer(second.port)
  await bothHealthy()
  await eventually(() => expect(fourth.made()).toBeGreaterThan(0), { timeout: 10_000 })
  stopped.abort()
  await Promise.all(clients)

  Object.assign(task.meta, { figures: { sent, failed: failures.length } })
  expect(failures).toEqual([])
  await Promise.all([third.stop(), fourth.stop()])
  expect([first, second, third, fourth].reduce((sum, { made }) => sum + made(), 0)).toBe(sent)
}, 60_000)
