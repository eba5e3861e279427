// Codes exchanged for tokens per second, side by side: `npx tsup && node test/bench/tokens.ts`.
// Needs `npm ci` in test/peers. ROUNDS and ROUND_MS change how long.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { matchesSecret } from '../../src/domain/secret.ts'
import { forkServer, measureServers, printResults, type ServerUnderLoad } from './http-load.ts'
import { client, codeCount, codeOf, subjects } from './tokens-subjects.ts'

const options = {
  connections: 32,
  rounds: Number(process.env['ROUNDS'] ?? 7),
  roundMs: Number(process.env['ROUND_MS'] ?? 2000),
}

function requests(port: number, form: boolean): () => string {
  let last = 0
  return () => {
    if (last >= codeCount) throw new Error('Out of codes: set CODES higher.')
    const fields = {
      grant_type: 'authorization_code',
      code: codeOf(last),
      redirect_uri: client.redirectUri,
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }
    last += 1
    const body = form ? new URLSearchParams(fields).toString() : JSON.stringify(fields)
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
    return `POST /v4/oauth2/token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
}

const directory = mkdtempSync(join(tmpdir(), 'utility-api-bench-'))
const servers: ServerUnderLoad[] = []
for (const [index, name] of Object.keys(subjects).entries()) {
  const { child, port } = await forkServer(new URL('tokens-subject.ts', import.meta.url), [
    name,
    join(directory, `${index}.sqlite`),
  ])
  // The peers take forms only.
  servers.push({ name, port, child, nextRequest: requests(port, name.endsWith('memory')) })
}
printResults(
  `Codes exchanged, ${options.connections} connections, ${options.rounds} rounds of ${options.roundMs} ms, median rate.`,
  await measureServers(servers, options),
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
