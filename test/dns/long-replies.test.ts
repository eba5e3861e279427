/** Long replies that arrive together: each is read in a turn of the event loop of its own. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { RemoteInfo } from 'node:dgram'
import { expect, onTestFinished, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { rawRecord, rawReply } from './support/messages.ts'

const count = 30
/** The turns of the event loop, as far as the test counts them. */
let turns = 0
const nextTurn = (): void => {
  turns += 1
  timer = setImmediate(nextTurn)
}
let timer: NodeJS.Immediate | undefined

/** Keeps the questions until all are there, and then answers all in one turn. */
async function startPatientServer(records: number): Promise<number> {
  const socket = createSocket('udp4')
  const asked: [Buffer, RemoteInfo][] = []
  socket.on('message', (message, from) => {
    asked.push([message, from])
    if (asked.length < count) return
    for (const [each, { address, port }] of asked) {
      const query = readFakeDnsQuery(each, 'udp', port, {})
      if (query === null) continue
      const answers = Array.from({ length: records }, (_, at) =>
        rawRecord({ data: Buffer.of(192, 0, 2, at) }),
      )
      socket.send(rawReply(query, { answers }), port, address)
    }
  })
  await once(socket.bind(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void socket.close())
  return socket.address().port
}

/** Returns how many turns of the event loop brought answers. */
async function turnsOfAnswers(records: number): Promise<number> {
  const port = await startPatientServer(records)
  const client = createDnsClient()
  nextTurn()
  const answered = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const server = { ip: '127.0.0.1', port }
      const answer = await client.query({ name: `n${index}.example`, type: 'A', server })
      expect(answer).toMatchObject({ status: 'NOERROR', records: { length: records } })
      return turns
    }),
  )
  clearImmediate(timer)
  await client.close()
  return new Set(answered).size
}

test('long ones are read one a turn', async () => {
  expect(await turnsOfAnswers(100)).toBe(count)
})

test('short ones are read together', async () => {
  expect(await turnsOfAnswers(1)).toBeLessThan(count / 2)
})
