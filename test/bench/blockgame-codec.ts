import { PacketReader, parseStatus, readStatusText } from 'utility-api/blockgame'
import { encodeStatusPacket } from '../../src/testing/blockgame-server.ts'
import { benchStatus, decodeFloor } from './blockgame-floor.ts'
import { quantile } from './blockgame-subject.ts'
import type { TableRow } from './table.ts'

const rounds = 9

function decode(chunks: readonly Uint8Array[]): number {
  const reader = new PacketReader()
  for (const chunk of chunks) {
    const [packet] = reader.add(chunk)
    if (packet) return parseStatus(readStatusText(packet)).players.online
  }
  throw new Error('The packet is not whole.')
}

/** What careless reassembly does: concatenate on every chunk. */
function decodeConcatenating(chunks: readonly Uint8Array[]): number {
  let received = Buffer.alloc(0)
  for (const chunk of chunks) {
    received = Buffer.concat([received, chunk])
    const status = decodeFloor(received)
    if (status) return status.online
  }
  throw new Error('The packet is not whole.')
}

const pieces = (bytes: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )

const packet = Buffer.from(encodeStatusPacket(benchStatus))
const large = encodeStatusPacket({
  ...(JSON.parse(benchStatus) as object),
  forgeData: 'x'.repeat(62_000 - 8192),
})
const huge = encodeStatusPacket({
  ...(JSON.parse(benchStatus) as object),
  forgeData: 'x'.repeat(1_000_000 - 8192),
})
const [inBytes, inSegments] = [pieces(large, 1), pieces(huge, 1448)]

const jobs: readonly (readonly [name: string, times: number, work: () => number])[] = [
  [
    'decode 8 KB: JSON.parse alone',
    2000,
    () => (JSON.parse(benchStatus) as { players: { online: number } }).players.online,
  ],
  ['decode 8 KB: floor', 2000, () => decodeFloor(packet)?.online ?? 0],
  ['decode 8 KB: utility-api', 2000, () => decode([packet])],
  ['62 KB in 1-byte pieces: utility-api', 5, () => decode(inBytes)],
  ['62 KB in 1-byte pieces: concatenating', 1, () => decodeConcatenating(inBytes)],
  ['1 MB in 1,448-byte pieces: utility-api', 5, () => decode(inSegments)],
  ['1 MB in 1,448-byte pieces: concatenating', 1, () => decodeConcatenating(inSegments)],
]

/** Median microseconds per decoding, the jobs taking turns. */
export function benchCodec(): TableRow[] {
  const micros = new Map(jobs.map(([name]) => [name, [] as number[]]))
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, times, work] of jobs) {
      const startedAt = performance.now()
      for (let index = 0; index < times; index += 1) if (work() !== 57) throw new Error(`${name} is wrong.`)
      if (round >= 0) micros.get(name)?.push(((performance.now() - startedAt) * 1000) / times)
    }
  }
  return [...micros].map(([job, times]) => ({ job, µs: Math.round(quantile(times, 0.5) * 10) / 10 }))
}
