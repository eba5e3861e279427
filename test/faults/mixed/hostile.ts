import { rawClient, rawRequestText } from '../../http/support/raw.ts'
import type { Client, SentRequest } from './client.ts'
import type { Holder, Work } from './honest.ts'
import { addressOf, bombNames, type Remotes } from './remotes.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const json = { 'Content-Type': 'application/json' }
const chunked = { ...json, 'Transfer-Encoding': 'chunked' }

/** What strangers do, with what they must be answered where they wait for it. */
export function hostileWork(client: Client, holder: Holder, remotes: Remotes): readonly Work[] {
  const { accessToken, apiKey, resellerToken } = holder
  const token = 'POST /v4/oauth2/token'
  const check = { Authorization: `Bearer ${accessToken}`, 'X-Record-Type': 'A' }
  const lookUp = { Basic: apiKey, 'X-Address': '127.0.0.1', 'X-Port': String(remotes.hostileGamePort) }
  let counter = 0

  /** Sends bytes, and leaves a moment later without a goodbye. */
  async function leave(bytes: string, afterMs = 100): Promise<void> {
    const raw = await rawClient(client.port)
    raw.write(bytes)
    await pause(afterMs)
    raw.socket.resetAndDestroy()
  }

  /** Sends bytes to which a refusal, or the end of the connection, is the only answer. */
  async function refused(what: string, bytes: string): Promise<void> {
    const raw = await rawClient(client.port)
    raw.write(bytes)
    const { status } = await raw.answer().catch(() => ({ status: 400 }))
    if (status < 400 || status >= 500) client.report(`${what}: ${status}`)
    raw.close()
  }

  async function expectAnswer(
    what: string,
    sent: SentRequest,
    status: number,
    body: object | ((json: unknown) => boolean),
  ): Promise<void> {
    client.expect(what, await client.send(sent), status, body)
  }

  function checkOf(
    what: string,
    label: string,
    fits: (result: Record<string, unknown>) => boolean,
  ): Promise<void> {
    const headers = { ...check, 'X-Domain': `${label}.h${(counter += 1)}.example.com` }
    return expectAnswer(what, { method: 'GET', path: '/v3/tools/dnscheck', headers }, 200, (body) => {
      const [result] = Array.isArray(body) ? (body as Record<string, unknown>[]) : []
      return result !== undefined && fits(result)
    })
  }

  async function trickle(): Promise<void> {
    const raw = await rawClient(client.port)
    raw.write(rawRequestText(token, { ...json, 'Content-Length': '1000' }))
    for (let sent = 0; sent < 20; sent += 1) {
      raw.write('x')
      await pause(25)
    }
    raw.socket.resetAndDestroy()
  }

  async function nobodyReads(): Promise<void> {
    const raw = await rawClient(client.port)
    raw.socket.pause()
    raw.write(rawRequestText('GET /nowhere').repeat(200))
    await pause(100)
    raw.close()
  }

  /** Asks for answers as large as they may be, all of them equal or each its own, and reads none or a part. */
  async function largeAnswers(requests: number, own: boolean, reads: boolean): Promise<void> {
    const raw = await rawClient(client.port)
    if (!reads) raw.socket.pause()
    for (let sent = 0; sent < requests; sent += 1) {
      const name = bombNames[counter % bombNames.length] ?? ''
      const domain = own ? `bomb-${name}.h${(counter += 1)}.example.com` : `bomb-${name}.example.com`
      raw.write(
        rawRequestText('GET /v3/tools/dnscheck', { ...check, 'X-Record-Type': 'TXT', 'X-Domain': domain }),
      )
    }
    await pause(200)
    raw.socket.resetAndDestroy()
  }

  const post = (body: string, headers: Readonly<Record<string, string>> = json): SentRequest => ({
    method: 'POST',
    path: '/v4/oauth2/token',
    headers,
    body,
  })
  const octets = '1\r\nx\r\n'.repeat(900)

  return [
    () => leave(rawRequestText(token, chunked, octets)),
    () => refused('a body in thousands of pieces', rawRequestText(token, chunked, octets.repeat(30))),
    trickle,
    () => leave(rawRequestText(token, { ...json, 'Content-Length': '1000' }, '{"code":')),
    () => leave(rawRequestText(token, chunked, '400\r\n{"')),
    () => leave(rawRequestText('GET /v4/games/blockgame/lookup', lookUp), 20),
    () =>
      refused(
        'two lengths',
        `${token} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      ),
    () => refused('a negative length', rawRequestText(token, { ...json, 'Content-Length': '-1' })),
    () => refused('no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
    () => refused('a header of 100 KB', rawRequestText('GET /', { 'X-Status': 'x'.repeat(100_000) })),
    () => refused('a path of 100 KB', rawRequestText(`GET /${'x'.repeat(100_000)}`)),
    () => refused('a tunnel', rawRequestText('CONNECT x:1')),
    nobodyReads,
    () => largeAnswers(16, false, false),
    () => largeAnswers(16, true, false),
    () => largeAnswers(16, true, true),
    () => largeAnswers(200, true, false),
    () =>
      expectAnswer('a member nine thousand times', post(`{${'"a":1,'.repeat(9000)}"b":1}`), 400, {
        error: 'invalid_request',
      }),
    () => expectAnswer('deep nesting', post('['.repeat(60_000)), 400, { error: 'invalid_request' }),
    () => expectAnswer('a body of 70 KB', post('x'.repeat(70_000)), 413, { error: 'invalid_request' }),
    () => expectAnswer('broken JSON', post('{"code":'), 400, { error: 'invalid_request' }),
    () => expectAnswer('a compressed body', post('x', { ...json, 'Content-Encoding': 'gzip' }), 415, {}),
    () =>
      expectAnswer(
        'a wrong secret',
        post(JSON.stringify({ client_id: holder.clientId, client_secret: 'wrong' })),
        401,
        {
          error: 'invalid_client',
        },
      ),
    () =>
      expectAnswer(
        'a wrong token, with a body that nobody reads',
        {
          method: 'PUT',
          path: '/v2/reseller/LIC-1/update',
          headers: { Authorization: 'Bearer wrong', 'X-Status': 'valid', 'Content-Length': '50000' },
          body: 'x'.repeat(50_000),
        },
        401,
        { error: 'invalid_token' },
      ),
    () =>
      expectAnswer(
        'two tokens',
        {
          method: 'PUT',
          path: '/v2/reseller/LIC-1/update',
          headers: { Authorization: `Bearer ${resellerToken}, x` },
        },
        401,
        {},
      ),
    () =>
      expectAnswer(
        'a wrong key',
        { method: 'GET', path: '/v4/games/blockgame/lookup', headers: { ...lookUp, Basic: 'x' } },
        401,
        {
          error: 'invalid_api_key',
        },
      ),
    () =>
      expectAnswer(
        'a hostile game server',
        { method: 'GET', path: '/v4/games/blockgame/lookup', headers: lookUp },
        500,
        {
          error: 'server_check_failed',
        },
      ),
    () =>
      expectAnswer(
        'a server inside',
        {
          method: 'GET',
          path: '/v4/games/blockgame/lookup',
          headers: { ...lookUp, 'X-Address': '169.254.169.254' },
        },
        400,
        { error: 'address_not_allowed' },
      ),
    () => checkOf('a silent resolver', 'silent', ({ status }) => status === 'TIMEOUT'),
    () => checkOf('a resolver that sends junk', 'junk', ({ resolved }) => resolved === false),
    () =>
      checkOf('forgeries', 'flood', (result) =>
        JSON.stringify(result['dns_results']).includes(`"${addressOf(1)}"`),
      ),
    () => {
      const name = bombNames[counter % bombNames.length] ?? ''
      return checkOf(`the bomb ${name}`, `bomb-${name}`, (result) => JSON.stringify(result).length < 300_000)
    },
  ]
}
