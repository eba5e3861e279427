/** What strangers do who hold more connections than a server may open files, and who else is answered then. */
import { describe, expect, test } from 'vitest'
import { answeredBeside, kindsOf, startFull, type Protocol } from './support/crowd.ts'

const hosts: Readonly<Record<string, Protocol>> = {
  Node: 'http',
  Express: 'http',
  Hono: 'http',
  serve: 'http',
  https: 'https',
  http2: 'http2',
  'http2 over TLS': 'http2 over TLS',
}

describe.each(Object.entries(hosts))(
  'beside 1,500 connections to %s, others are answered',
  (host, protocol) => {
    test.each(kindsOf(protocol))('%s', async (_kind, sent) => {
      using server = await startFull(host, 1024)
      expect(await answeredBeside(1500, server.port, protocol, sent)).toBe(10)
    })

    test.each(kindsOf(protocol).slice(0, 1))('%s, of 500 that come back at once', async (_kind, sent) => {
      using server = await startFull(host, 512)
      expect(await answeredBeside(500, server.port, protocol, sent, true)).toBe(10)
    })
  },
)

test('connections with half a header of 850 fields do not fill a heap of 128 MB', async () => {
  using server = await startFull('serve', 6000, 128)
  const fields = Array.from({ length: 850 }, (_, at) => `${at.toString(36)}:${(at + 1296).toString(36)}\r\n`)
  expect(await answeredBeside(3500, server.port, 'http', `GET / HTTP/1.1\r\n${fields.join('')}`)).toBe(10)
})
