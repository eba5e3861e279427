// What a thousand hanging checks and lookups cost the three storage operations, and what a minute of saturation does:
// `npm run bench -- overload`. ROUNDS, ROUND_MS and SATURATION_MS change how long.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { quantile } from './http-load.ts'
import { printTable } from './table.ts'

const rounds = Number(process.env['ROUNDS'] ?? 5)
const roundMs = Number(process.env['ROUND_MS'] ?? 2000)
const saturationMs = Number(process.env['SATURATION_MS'] ?? 60_000)

interface Facts {
  readonly port: number
  readonly token: string
  readonly apiKey: string
  readonly accessToken: string
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
}

interface Figures {
  readonly cpu: NodeJS.CpuUsage
  readonly memory: number
}

const child = fork(fileURLToPath(new URL('overload-subject.ts', import.meta.url)))
const [facts] = (await once(child, 'message')) as [Facts]

async function ask<Answer>(question: unknown): Promise<Answer> {
  child.send(question as object)
  const [answer] = (await once(child, 'message')) as [Answer]
  return answer
}

function text(line: string, headers: Record<string, string>, body: string = ''): string {
  const all = { Host: 'localhost', ...headers, 'Content-Length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`${line} HTTP/1.1`, ...lines, '', body].join('\r\n')
}

const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'example.com', 'X-Status': 'valid' }
const Authorization = `Bearer ${facts.token}`
const generate = text('POST /v2/reseller/licenses/generate', { Authorization, ...fields })
const exchangeOf = (code: string): string =>
  text(
    'POST /v4/oauth2/token',
    { 'Content-Type': 'application/json' },
    JSON.stringify({
      grant_type: 'authorization_code',
      code,
      redirect_uri: facts.redirectUri,
      client_id: facts.clientId,
      client_secret: facts.clientSecret,
    }),
  )

/** A connection that is asked one thing after the other. */
class Connection {
  readonly socket: Socket = connect(facts.port, '127.0.0.1').setNoDelay(true)
  #received = ''
  #answered: ((answer: string) => void) | undefined

  constructor() {
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1')
      const head = this.#received.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1])
      if (head < 0 || this.#received.length < head + 4 + length) return
      const answer = this.#received
      this.#received = ''
      this.#answered?.(answer)
    })
  }

  send(request: string): Promise<string> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.socket.write(request)
    })
  }
}

let connections = Array.from({ length: 16 }, () => new Connection())
const first = await connections[0]?.send(generate)
const key = /"license_key":"([^"]+)"/.exec(first ?? '')?.[1]
const update = text(`PUT /v2/reseller/${key}/update`, { Authorization, 'X-Status': 'invalid' })

/** The three storage operations in equal shares, for a while: how many per second, and how long each took. */
async function measure(): Promise<{ perSecond: number; took: number[] }> {
  const codes = await ask<string[]>({ codes: (roundMs / 1000) * 12_000 })
  const took: number[] = []
  const begin = performance.now()
  await Promise.all(
    connections.map(async (connection) => {
      for (let count = 0; performance.now() - begin < roundMs; count += 1) {
        const code = count % 3 === 0 ? codes.pop() : undefined
        const request = code === undefined ? (count % 3 === 1 ? update : generate) : exchangeOf(code)
        const sent = performance.now()
        const answer = await connection.send(request)
        if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer)
        took.push(performance.now() - sent)
      }
    }),
  )
  return { perSecond: took.length / ((performance.now() - begin) / 1000), took }
}

let names = 0
function hangingRequest(): string {
  names += 1
  return names % 2 === 0
    ? text('GET /v4/games/blockgame/lookup', { Basic: facts.apiKey, 'X-Address': `h${names}.example` })
    : text('GET /v3/tools/dnscheck', {
        Authorization: `Bearer ${facts.accessToken}`,
        'X-Domain': `h${names}.example`,
        'X-Record-Type': 'A',
      })
}

async function hold(): Promise<Connection[]> {
  const held = Array.from({ length: 1000 }, () => new Connection())
  // Half of them may find the server's queue of new connections full, and try again after a second.
  await Promise.all(held.map(({ socket }) => once(socket, 'connect')))
  for (const connection of held) void connection.send(hangingRequest())
  await wait(500)
  const refused = await new Connection().send(hangingRequest())
  if (!refused.startsWith('HTTP/1.1 503')) throw new Error(`The thousand are not held: ${refused}`)
  return held
}

// Free and laden rounds take turns, so that what else the machine does hits both alike.
const results = { free: [] as number[], laden: [] as number[] }
const latencies = { free: [] as number[], laden: [] as number[] }
await measure()
for (let round = 0; round < rounds; round += 1) {
  const free = await measure()
  const held = await hold()
  const laden = await measure()
  for (const { socket } of held) socket.destroy()
  await wait(500)
  for (const [name, result] of Object.entries({ free, laden }) as ['free' | 'laden', typeof free][]) {
    results[name].push(result.perSecond)
    latencies[name].push(...result.took)
  }
  process.stderr.write(`\rround ${round + 1} of ${rounds}`)
}
process.stderr.write('\n')
printTable(
  'The three storage operations, alone and beside the hanging requests.',
  (['free', 'laden'] as const).map((name) => ({
    'storage operations': name === 'free' ? 'alone' : 'beside 1,000 hanging checks and lookups',
    'per second': Math.round(quantile(results[name], 0.5)),
    'p50 ms': quantile(latencies[name], 0.5).toFixed(2),
    'p99 ms': quantile(latencies[name], 0.99).toFixed(2),
  })),
)
const ratios = results.laden.map((rate, index) => rate / (results.free[index] ?? Number.NaN))
console.log(`They keep ${quantile(ratios, 0.5).toFixed(2)} of their rate.\n`)

const burst = 16
const flooded = [
  text('GET /nowhere', {}),
  text(`PUT /v2/reseller/${key}/update`, { Authorization, ...fields }),
]
const requests = Array.from({ length: burst }, (_, index) => flooded[Math.min(index % 4, 1)]).join('')

/** Sends bursts of requests on one connection, each when the one before is answered; resolves to the number of answers. */
function flood(until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(facts.port, '127.0.0.1', () => socket.write(requests))
    const mark = 'HTTP/1.1 '
    let answers = 0
    let tail = ''
    socket.on('error', reject).on('data', (chunk) => {
      const received = tail + chunk.toString('latin1')
      answers += received.split(mark).length - 1
      tail = received.slice(1 - mark.length)
      if (answers % burst !== 0) return
      if (performance.now() < until) socket.write(requests)
      else {
        socket.destroy()
        resolve(answers)
      }
    })
  })
}

// Saturation: more work than one processor does, refusals among it. In bursts, as one caller that waits for every single
// answer is busier than the server.
const before = await ask<Figures>('figures')
const memory: number[] = []
const until = performance.now() + saturationMs
const crowd = Array.from({ length: 400 }, () => flood(until))
while (performance.now() < until) {
  await wait(Math.min(5000, saturationMs / 6))
  memory.push((await ask<Figures>('figures')).memory)
}
const answers = (await Promise.all(crowd)).reduce((sum, each) => sum + each, 0)
const after = await ask<Figures>('figures')
const busy = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1000 / saturationMs
// The server has hung up on those that were idle meanwhile.
connections = connections.map(() => new Connection())
const recovered = (await measure()).perSecond / quantile(results.free, 0.5)
const megabytes = (bytes: number): number => Math.round(bytes / 1_048_576)
console.log(
  `Saturation for ${saturationMs / 1000} s: ${answers} answers, ${Math.round(busy * 100)} % of a processor, ` +
    `memory ${memory.map(megabytes).join(', ')} MB. In the ${roundMs / 1000} s after it, the rate was ${recovered.toFixed(2)} of the rate before.`,
)
child.disconnect()
for (const { socket } of connections) socket.destroy()
