import { styleText } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { BlockgameClient } from '../../src/ports/blockgame-client.ts'
import { cases, type Case } from './support/cases.ts'
import { startClient, startServer } from './support/harness.ts'
import { isInstalled, peerNames, startPeer, type Answer, type Peer, type Said } from './support/peer.ts'
import {
  hasRealServer,
  icon,
  loadRealServers,
  realVersions,
  startRealServer,
  versionName,
  versionOf,
} from './support/real-server.ts'

// The same servers, asked by us and by the libraries that people use today. A row is a server: what it was told to
// say, and what each made of it.
const names = peerNames.filter(isInstalled)
const missing = peerNames.filter((name) => !names.includes(name))
if (missing.length > 0) console.log(`Skipped: ${missing.join(', ')}; run \`npm ci\` in test/peers.`)

interface Cell {
  readonly said: string
  readonly isRight: boolean
}
interface Row {
  readonly name: string
  readonly told: string
  readonly cells: readonly Cell[]
}
const rows: Row[] = []
const peers: Peer[] = []

beforeAll(async () => {
  for (const name of names) peers.push(await startPeer(name))
}, 120_000)
afterAll(async () => {
  await Promise.all(peers.map((peer) => peer[Symbol.asyncDispose]()))
})

async function ask(client: BlockgameClient, port: number): Promise<Answer> {
  const check = client.status({ host: '127.0.0.1', port, timeoutMs: 4000 })
  return check.then(
    ({ players, version, favicon }) => ({ ...players, ...version, favicon: favicon ?? undefined }),
    () => 'nothing' as const,
  )
}

/** Asks everybody at once, and adds the row. */
async function compare(name: string, port: number, expected: Case['expected']): Promise<Row> {
  const client = startClient()
  const answers = await Promise.all([ask(client, port), ...peers.map((peer) => peer.ask(port))])
  const told = typeof expected === 'string' ? 'nothing' : flat(expected)
  const cells = answers.map((answer) => ({ said: print(answer), isRight: isRight(answer, told) }))
  const row = { name, told: print(told), cells }
  rows.push(row)
  return row
}

function flat({ players, version, favicon }: Exclude<Case['expected'], string>): Said {
  return { ...players, ...version, ...(favicon !== undefined && { favicon }) }
}

/**
 * Whether an answer is what the server was told to say. In favor of the peers: what they have no field for does not
 * count, and leaving out what the server left out is as good as zero.
 */
function isRight(answer: Answer, told: Answer): boolean {
  if (typeof answer === 'string' || typeof told === 'string') return answer === told
  return Object.entries(told).every(([field, value]) => {
    const said = answer[field as keyof Said] ?? null
    return (
      said === value || (said === null && (!(field in answer) || value === 0 || value === '' || value === -1))
    )
  })
}

function print(answer: Answer): string {
  if (typeof answer === 'string') return answer
  const { online = '', max = '', name = '', protocol = '', favicon } = answer
  const texts = [`${text(online)}/${text(max)}`, text(name), text(protocol), favicon ? 'icon' : '']
  return texts.filter(Boolean).join(' ')
}

function text(value: unknown): string {
  return typeof value === 'number' || value === '' ? String(value) : JSON.stringify(value).slice(0, 24)
}

// A flood tests bounds, and keeps some peers busy for half a minute, in which they would be wrong elsewhere.
const comparable = cases.filter(({ name }) => name !== 'stream: a flood')
/** How many of the fake servers are asked. */
const wantedRows = Number(process.env['PEER_ROWS'] ?? 20)
const every = Math.max(1, Math.floor(comparable.length / wantedRows))
const compared = comparable.filter((_, index) => index % every === 0)
test.for(compared)('$name', { timeout: 60_000 }, async ({ name, server: options, expected }) => {
  const { port } = await startServer(options)
  const { cells, told } = await compare(name, port, expected)
  expect(cells[0], `The server was told ${told}.`).toMatchObject({ isRight: true })
})

test.skipIf(!hasRealServer())('servers of minecraft-protocol', { timeout: 120_000 }, async () => {
  const library = loadRealServers()
  for (const [index, wanted] of realVersions.entries()) {
    const version = versionOf(library, wanted)
    const players = { online: 7 + index, max: 40 + index }
    const server = await startRealServer(library, {
      version,
      maxPlayers: players.max,
      beforePing: (status: object) => ({ ...status, players }),
    })
    onTestFinished(() => server.close())
    const name = versionName(version)
    const { cells } = await compare(`real: ${name}`, server.port, {
      players,
      version: { name },
      favicon: icon,
    })
    // These are what everybody is made for: one that is wrong here is asked in a wrong way.
    expect(cells.filter(({ isRight: right }) => !right)).toEqual([])
  }
})

test('no row where another is right and we are not', () => {
  console.log(table())
  const worse = rows.filter(
    ({ cells: [ours, ...others] }) => !ours!.isRight && others.some((cell) => cell.isRight),
  )
  expect(worse).toEqual([])
  expect(rows.length).toBeGreaterThanOrEqual(compared.length)
})

function table(): string {
  const sums = ['utility-api', ...names].map((name, column) => {
    const cells = rows.map((row) => row.cells[column]!)
    const crashes = cells.filter(({ said }) => said === 'crash').length
    return `${name}: right in ${cells.filter((cell) => cell.isRight).length} of ${rows.length}, crashes in ${crashes}`
  })
  const lines = rows.map(({ name, told, cells }) => {
    const said = cells.map((cell) =>
      styleText(cell.isRight ? 'green' : 'red', `${cell.isRight ? '+' : '-'} ${cell.said}`),
    )
    return [`${name}: ${told}`, ...said].join(' | ')
  })
  return [['server: told', 'utility-api', ...names].join(' | '), ...lines, '', ...sums].join('\n')
}
