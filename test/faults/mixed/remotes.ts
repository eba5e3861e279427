import {
  fakeBlockgameServer,
  fakeDnsServer,
  type FakeBlockgameConnection,
  type FakeDnsQuery,
} from 'utility-api/testing'
import { aliasesOfPointers, recordsOfPointers, txtOfOctets } from '../../dns/support/bombs.ts'
import { labelLattice, patched, pointerChain } from '../../dns/support/messages.ts'

/** A resolver and game servers on loopback: some answer, some are hostile. */
export interface Remotes {
  readonly resolverPort: number
  readonly gamePort: number
  readonly hostileGamePort: number
  /** Drops their records of what came: a quarter of an hour of those would fill this process. */
  forget(): void
  close(): Promise<void>
}

/** The address of `n<number>.example.com`. */
export function addressOf(number: number): string {
  return `192.0.2.${number % 250}`
}

/** What hostile names are answered over TCP; over UDP they are told to come there. */
const bombs: Readonly<Record<string, (query: FakeDnsQuery) => Buffer>> = {
  txt: (query) => txtOfOctets(query),
  pointers: (query) => recordsOfPointers(query, 'A', 65_000),
  aliases: aliasesOfPointers,
  lattice: labelLattice,
  chain: (query) => pointerChain(query, 2000, 2000),
}
export const bombNames: readonly string[] = Object.keys(bombs)

const truncated = 0x02

function reply(query: FakeDnsQuery): Uint8Array | readonly Uint8Array[] | null {
  const [label = ''] = query.name.split('.')
  const [kind = '', detail = ''] = label.split('-')
  const right = (ip: string): Buffer =>
    query.answer({
      rcode: 'NOERROR',
      records: query.type === 'A' ? [{ type: 'A', host: query.name, ttl: 60, ip }] : [],
    })
  if (kind === 'silent') return null
  if (kind === 'junk') return [Buffer.from(query.message.subarray(0, 2)), Buffer.alloc(600, 0xc0)]
  if (kind === 'flood') return [...forgeries(query), right(addressOf(1))]
  const bomb = kind === 'bomb' ? bombs[detail] : undefined
  if (bomb !== undefined)
    return query.transport === 'tcp' ? bomb(query) : patched(query.answer(), { 2: 0x80 | truncated })
  if (kind.startsWith('n')) return right(addressOf(Number(kind.slice(1))))
  return kind.startsWith('g') ? right('127.0.0.1') : query.answer()
}

/** Replies with another id, to another question, and cut short. */
function forgeries(query: FakeDnsQuery): Buffer[] {
  const forged = query.answer({
    rcode: 'NOERROR',
    records: [{ type: 'A', host: query.name, ttl: 60, ip: '198.51.100.66' }],
  })
  return Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0 ? patched(forged, { 0: (forged[0] ?? 0) ^ (index + 1) }) : forged.subarray(0, 20 + index),
  )
}

const misbehaviors: readonly ((connection: FakeBlockgameConnection) => void)[] = [
  () => {},
  ({ socket }) => void socket.destroy(),
  ({ socket }) => void socket.write(Buffer.alloc(100_000, 0xff)),
  ({ socket }) => void socket.write(Buffer.alloc(3_000_000, 1)),
  ({ socket }) => void socket.write(Buffer.from([0xff, 0xff, 0x3f, 0x00, 0xff, 0xff, 0x3f])),
  ({ socket }) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  ({ socket }) => {
    const timer = setInterval(() => socket.write('\x01'), 20)
    socket.once('close', () => clearInterval(timer))
  },
]

export async function startRemotes(): Promise<Remotes> {
  const dns = await fakeDnsServer({ reply })
  const status = { version: { name: '1.21.4', protocol: 769 }, players: { online: 3, max: 20 } }
  const game = await fakeBlockgameServer({ status })
  let next = 0
  const hostileGame = await fakeBlockgameServer({
    script: (connection) => misbehaviors[(next += 1) % misbehaviors.length]?.(connection),
  })
  const games = [game, hostileGame]
  return {
    resolverPort: dns.port,
    gamePort: game.port,
    hostileGamePort: hostileGame.port,
    forget() {
      ;(dns.queries as FakeDnsQuery[]).length = 0
      for (const { connections } of games) {
        const open = connections.filter((connection) => connection.open)
        ;(connections as FakeBlockgameConnection[]).splice(0, Infinity, ...open)
      }
    },
    async close() {
      await Promise.all([dns.close(), game.close(), hostileGame.close()])
    },
  }
}
