/** One connection, looked at from outside: what stays usable, what is answered, in which order. */
import { expect, test } from 'vitest'
import { describeEachServer, type Server } from './support/each-server.ts'
import { rawRequestText, type RawClient } from './support/raw.ts'
import { tokenFields } from './support/token-request.ts'

const tokenLine = ({ prefix }: Server): string => `POST ${prefix}/v4/oauth2/token`
const checkLine = ({ prefix }: Server, method = 'GET'): string => `${method} ${prefix}/v3/tools/dnscheck`
const generateLine = ({ prefix }: Server): string => `POST ${prefix}/v2/reseller/licenses/generate`
const json = { 'Content-Type': 'application/json' }

function checkHeaders({ world }: Server): Record<string, string> {
  return {
    Authorization: `Bearer ${world.accessToken}`,
    'X-Domain': 'example.com',
    'X-Record-Type': 'A',
  }
}

/** The next request on a connection must find it in order. */
async function expectUsable(server: Server, client: RawClient): Promise<void> {
  client.write(rawRequestText(checkLine(server), checkHeaders(server)))
  expect(await client.answer()).toMatchObject({ status: 200 })
}

/** After a body that was not read whole; some servers rather close, but none may take the body for a request. */
async function expectUsableOrClosed(server: Server, client: RawClient): Promise<void> {
  if (!/^(Hono|Bun|Deno)$/.test(server.name)) return expectUsable(server, client)
  client.write(rawRequestText(checkLine(server), checkHeaders(server)))
  const { status } = await client.answer().catch(() => ({ status: 'closed' }))
  expect([200, 'closed']).toContain(status)
}

function chunked(...parts: string[]): string {
  return [...parts, ''].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
}

describeEachServer('Connections', {}, (server) => {
  test('stay open after refusals', async () => {
    const client = await server().connect()
    client.write(rawRequestText(checkLine(server())))
    expect(await client.answer()).toMatchObject({ status: 401 })
    client.write(rawRequestText(`GET ${server().prefix}/nowhere`))
    expect(await client.answer()).toMatchObject({ status: 404 })
    client.write(rawRequestText(checkLine(server(), 'DELETE')))
    expect(await client.answer()).toMatchObject({ status: 405 })
    await expectUsable(server(), client)
  })

  test('stay in step after HEAD and OPTIONS', async () => {
    const client = await server().connect()
    client.write(rawRequestText(checkLine(server(), 'HEAD'), checkHeaders(server())))
    expect(await client.answer('bodiless')).toMatchObject({ status: 200 })
    client.write(rawRequestText(checkLine(server(), 'OPTIONS')))
    expect(await client.answer()).toMatchObject({ status: 204 })
    await expectUsable(server(), client)
  })

  test('answer requests that were sent at once, in order', async () => {
    const client = await server().connect()
    client.write(
      rawRequestText(checkLine(server()), checkHeaders(server())) +
        rawRequestText(`GET ${server().prefix}/nowhere`) +
        rawRequestText(checkLine(server())),
    )
    // Bun ends a connection on which requests overlap.
    if (server().name === 'Bun') return expect(client.answer()).rejects.toThrow(/ended/)
    const statuses = [await client.answer(), await client.answer(), await client.answer()]
    expect(statuses.map(({ status }) => status)).toStrictEqual([200, 404, 401])
  })

  test('stay in step after a body that is not read', async () => {
    const client = await server().connect()
    const body = 'x'.repeat(5000)
    client.write(rawRequestText(generateLine(server()), { 'Content-Length': '5000' }, body))
    expect(await client.answer()).toMatchObject({ status: 401 })
    client.write(
      rawRequestText(generateLine(server()), { 'Transfer-Encoding': 'chunked' }, chunked(body, body)),
    )
    expect(await client.answer()).toMatchObject({ status: 401 })
    await expectUsable(server(), client)
  })

  test('carry a chunked body, its chunks in pieces', async () => {
    const client = await server().connect()
    const body = JSON.stringify(await tokenFields(server().world))
    const text = chunked(body.slice(0, 7), body.slice(7, 60), body.slice(60))
    client.write(rawRequestText(tokenLine(server()), { ...json, 'Transfer-Encoding': 'chunked' }))
    for (let start = 0; start < text.length; start += 50) {
      client.write(text.slice(start, start + 50))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await client.answer()).toMatchObject({ status: 200 })
    await expectUsable(server(), client)
  })

  test('report a body that is too large, although it is sent in small chunks', async () => {
    const client = await server().connect()
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Transfer-Encoding': 'chunked' }
    client.write(rawRequestText(tokenLine(server()), form))
    client.write(chunked(...Array.from({ length: 90 }, () => 'x'.repeat(1000))))
    expect(await client.answer()).toMatchObject({ status: 413 })
    await expectUsableOrClosed(server(), client)
  })

  test('refuse a body that is too large before it has all been sent', async () => {
    // A body parser waits for the whole body, or refuses it by its own limit.
    const size = server().name.endsWith('parsers') ? 200_000 : 1_000_000
    const client = await server().connect()
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(size) }
    client.write(rawRequestText(tokenLine(server()), form, 'x'.repeat(70_000)))
    if (!server().name.endsWith('parsers')) expect(await client.answer()).toMatchObject({ status: 413 })
    client.write('x'.repeat(size - 70_000))
    if (server().name.endsWith('parsers')) expect(await client.answer()).toMatchObject({ status: 413 })
    await expectUsableOrClosed(server(), client)
  })

  test('wait for the whole of a body', async () => {
    const client = await server().connect()
    const body = JSON.stringify(await tokenFields(server().world))
    const headers = { ...json, 'Content-Length': String(body.length), Expect: '100-continue' }
    client.write(rawRequestText(tokenLine(server()), headers))
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.write(body.slice(0, 20))
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.write(body.slice(20))
    expect(await client.answer()).toMatchObject({ status: 200 })
  })

  test('break in the middle of a body without harm', async () => {
    for (let count = 0; count < 20; count += 1) {
      const client = await server().connect()
      client.write(rawRequestText(tokenLine(server()), { ...json, 'Content-Length': '500' }, '{"code":'))
      await new Promise((resolve) => setTimeout(resolve, 2))
      client.close()
    }
    await expectUsable(server(), await server().connect())
  })

  test.each(['a b', '[', 'a/../b', 'x:99999', '', '%', 'ä'])('accept the Host "%s"', async (host) => {
    const client = await server().connect()
    client.write(rawRequestText(checkLine(server()), { ...checkHeaders(server()), Host: host }))
    // Some runtimes refuse such a Host or mix it into the path; ours never looks at it.
    const { status } = await client.answer().catch(() => ({ status: 400 }))
    expect([200, 400, 404]).toContain(status)
    await expectUsable(server(), await server().connect())
  })

  test('carry a request target with scheme and host', async () => {
    const client = await server().connect()
    const target = `GET http://other.example${server().prefix}/v3/tools/dnscheck?x=/y`
    client.write(rawRequestText(target, checkHeaders(server())))
    const { status } = await client.answer()
    // Hono's server takes a target for a path.
    expect(server().name === 'Hono' ? [200, 404, 400] : [200]).toContain(status)
  })
})
