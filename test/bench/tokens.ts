// Codes exchanged for tokens per second, side by side: `npm run bench -- tokens`.
// Needs `npm ci` in test/peers, and is asked by wrk where that is installed. TOKENS is how many a database holds before;
// ROUNDS and ROUND_MS change how long, ONLY takes the servers with that in their name.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { matchesSecret } from '../../src/domain/secret.ts'
import {
  forkServer,
  loader,
  measureServers,
  printResults,
  runToEnd,
  type ServerUnderLoad,
} from './http-load.ts'
import { exchangesLoad, readExchanges, requestsOf, writeExchanges } from './tokens-load.ts'
import { subjects } from './tokens-subjects.ts'
import { hasWrk } from './wrk.ts'

const options = {
  connections: 32,
  rounds: Number(process.env['ROUNDS'] ?? 7),
  roundMs: Number(process.env['ROUND_MS'] ?? 2000),
}

const directory = mkdtempSync(join(tmpdir(), 'utility-api-bench-'))
const exchanges = join(directory, 'exchanges')
// Enough for 40,000 a second in all rounds, the first of which warms up.
writeExchanges(exchanges, 40 * (options.rounds + 1) * options.roundMs)
const fromHere = hasWrk ? [] : readExchanges(exchanges)
/** The peers take forms only. */
const takesForms = (name: string): boolean => name.endsWith('memory')

const names = Object.keys(subjects).filter((name) => name.includes(process.env['ONLY'] ?? ''))
const servers: ServerUnderLoad[] = []
for (const [index, name] of names.entries()) {
  const subject = new URL('tokens-subject.ts', import.meta.url)
  const args = [name, join(directory, `${index}.sqlite`), exchanges]
  await runToEnd(subject, ['fill', ...args])
  const { child, port } = await forkServer(subject, ['serve', ...args])
  servers.push({ name, port, child, requests: requestsOf(fromHere, port, takesForms(name)) })
}
const load = hasWrk ? { load: exchangesLoad(exchanges, options.connections, takesForms) } : {}
printResults(
  `Codes exchanged, load by ${loader}, ${options.connections} connections, ${options.rounds} rounds of ${options.roundMs} ms, median rate.`,
  await measureServers(servers, { ...options, ...load }),
)
for (const { child } of servers) child.disconnect()
rmSync(directory, { recursive: true })

// The check of a credential alone: one SHA-256 and one comparison in constant time.
const secret = `uapi_cs_${randomBytes(36).toString('base64url')}`
const stored = createHash('sha256').update(secret).digest()

const checks = 200_000
let matched = 0
for (const measured of [false, true]) {
  const before = process.cpuUsage()
  for (let count = 0; count < checks; count += 1) if (matchesSecret(secret, [stored])) matched += 1
  const { user, system } = process.cpuUsage(before)
  if (measured) console.log(`Check of a client secret: ${((user + system) / checks).toFixed(2)} µs of CPU.`)
}
if (matched !== 2 * checks) throw new Error('The check is wrong.')
