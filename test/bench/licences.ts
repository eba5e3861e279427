// Licences generated per second, side by side: `npx tsup && node test/bench/licences.ts`.
// Needs `npm ci` in test/peers. ROUNDS and ROUND_MS change how long.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { createAdmin } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { subjects } from './licences-subjects.ts'

const rounds = Number(process.env['ROUNDS'] ?? 7)
const roundMs = Number(process.env['ROUND_MS'] ?? 3000)
const connections = 32

interface Subject {
  readonly name: string
  readonly port: number
  readonly request: string
  readonly child: ChildProcess
  readonly rates: number[]
  readonly latencies: number[]
}

async function start(name: string, path: string): Promise<Subject> {
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const { token } = await createAdmin({ storage }).createReseller()
  database.close()
  const child = fork(fileURLToPath(new URL('licences-subject.ts', import.meta.url)), [name, path])
  const [port] = (await once(child, 'message')) as [number]
  const headers = {
    Host: `127.0.0.1:${port}`,
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Ada Lovelace',
    'X-Domain-Or-IP': 'shop.example.com',
    'X-Status': 'valid',
    'Content-Length': 0,
  }
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`)
  const request = `POST /v2/reseller/licenses/generate HTTP/1.1\r\n${lines.join('')}\r\n`
  return { name, port, request, child, rates: [], latencies: [] }
}

/** One request after the other on one connection until `until`; resolves with how long each took, in milliseconds. */
function call({ port, request }: Subject, until: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const took: number[] = []
    const socket: Socket = connect(port, '127.0.0.1')
    let sent = 0
    let status = 0
    function next(): void {
      if (performance.now() >= until) {
        socket.destroy()
        return resolve(took)
      }
      status = 0
      sent = performance.now()
      socket.write(request)
    }
    socket.setNoDelay(true).on('error', reject).on('connect', next)
    // The caller must cost little: the first bytes hold the status, and every body is JSON and ends with a brace.
    socket.on('data', (chunk) => {
      status ||= Number(chunk.toString('latin1', 9, 12))
      if (chunk.at(-1) !== 0x7d) return
      if (status !== 200) return reject(new Error(`answered with ${status}`))
      took.push(performance.now() - sent)
      next()
    })
  })
}

async function runRound(subject: Subject, keep: boolean): Promise<void> {
  const begin = performance.now()
  const took = await Promise.all(Array.from({ length: connections }, () => call(subject, begin + roundMs)))
  const all = took.flat()
  if (!keep) return
  subject.rates.push(all.length / ((performance.now() - begin) / 1000))
  subject.latencies.push(...all)
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(q * values.length)] ?? Number.NaN
}

const directory = mkdtempSync(join(tmpdir(), 'utility-api-bench-'))
const running: Subject[] = []
for (const [index, name] of Object.keys(subjects).entries())
  running.push(await start(name, join(directory, `${index}.sqlite`)))

// The first round warms up; within each, the servers take turns, so that what else the machine does hits them alike.
for (let round = 0; round <= rounds; round += 1) {
  for (let turn = 0; turn < running.length; turn += 1) {
    const subject = running[(round + turn) % running.length]
    if (subject !== undefined) await runRound(subject, round > 0)
  }
  process.stderr.write(`\rround ${round} of ${rounds}`)
}
process.stderr.write('\n')

const ours = running[0]?.rates ?? []
console.log(`Licences generated, ${connections} connections, ${rounds} rounds of ${roundMs} ms: medians.`)
console.table(
  running.map(({ name, rates, latencies }) => {
    // Round by round: what slowed one of a pair down slowed the other down too.
    const ratios = rates.map((rate, round) => (ours[round] ?? Number.NaN) / rate)
    return {
      server: name,
      'per second': Math.round(quantile(rates, 0.5)),
      'utility-api is': `${quantile(ratios, 0.5).toFixed(2)} times`,
      'p50 ms': quantile(latencies, 0.5).toFixed(1),
      'p99 ms': quantile(latencies, 0.99).toFixed(1),
    }
  }),
)
for (const { child } of running) child.disconnect()
rmSync(directory, { recursive: true })
