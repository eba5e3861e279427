/** Nobody is sent to a URI that the client has not registered, whatever is asked for and however it is spelled. */
import fc from 'fast-check'
import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

const registered = [
  'https://client.example/cb',
  'http://127.0.0.1/cb',
  'http://[::1]/cb',
  'com.example.app:/cb',
]
const admin = createAdmin({ storage: memoryStorage(), oauth: { issuer: 'https://auth.example' } })
const { clientId } = await admin.createClient({ clientId: 'shop', redirectUris: registered })

/** Hosts of an attacker, to be written where a parser may look for the host. */
const evil = ['evil.example', 'evil.example:80', 'evil.example%00', 'evil.example%2f', 'evil.example%23']

/** Every way of ours to write an address of the attacker's that looks like one of the client's. */
const spellings = [
  ...evil.flatMap((host) => [
    `https://client.example@${host}/cb`,
    `https://client.example:443@${host}/cb`,
    `https://client.example%40${host}/cb`,
    `https://client.example\\@${host}/cb`,
    `https://client.example/\\${host}/cb`,
    `https://client.example.${host}/cb`,
    `https://${host}/client.example/cb`,
    `https://${host}#client.example/cb`,
    `https://${host}?https://client.example/cb`,
    `https://${host}\\client.example/cb`,
    `https:///${host}/cb`,
    `https:${host}/cb`,
    `https:\\\\${host}\\cb`,
    `//${host}/cb`,
    `\\\\${host}/cb`,
    `/\\${host}/cb`,
    `https://client.example/cb@${host}`,
    `https://client.example/cb/..//${host}`,
    `https://client.example/cb?@${host}`,
    `https://client.example/cb#@${host}`,
    `http://127.0.0.1@${host}/cb`,
    `http://127.0.0.1:80@${host}/cb`,
    `http://127.0.0.1:@${host}/cb`,
    `http://127.0.0.1:80.${host}/cb`,
    `http://127.0.0.1:80\\@${host}/cb`,
    `http://127.0.0.1:80#@${host}/cb`,
    `http://127.0.0.1.${host}/cb`,
    `http://127.0.0.1%2f${host}/cb`,
    `http://[::1]@${host}/cb`,
    `http://[::1]:80@${host}/cb`,
    `http://[::1].${host}/cb`,
    `com.example.app://${host}/cb`,
    `com.example.app:/cb@${host}`,
  ]),
  ...[
    'http:',
    'ftp:',
    'javascript:',
    'data:',
    'vbscript:',
    'file:',
    'HTTPS:',
    'https :',
    '\thttps:',
    'view-source:https:',
  ].map((scheme) => `${scheme}//client.example/cb`),
  ...[':80', ':443', ':0', ':', ':65536', ':-1', ':+80', ':8 0', ':\u0661', ':80:80'].map(
    (port) => `https://client.example${port}/cb`,
  ),
  ...[
    ':',
    ':-1',
    ':+80',
    ':123456',
    ':8a',
    ': 80',
    ':\u0661',
    ':80:80',
    ':80/',
    ':80//cb',
    ':80\\cb',
    ':80;',
  ].map((port) => `http://127.0.0.1${port}/cb`),
  ...[
    '127.1',
    '127.0.0.2',
    '127.000.000.001',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0.0.0.0',
    'localhost',
    '[::ffff:127.0.0.1]',
    '[0:0:0:0:0:0:0:1]',
    '[::1%25lo]',
    '127.0.0.1.',
    '\uff11\uff12\uff17.0.0.1',
  ].map((host) => `http://${host}:5000/cb`),
  ...[
    '/CB',
    '/cb/',
    '/cb//',
    '//cb',
    '/./cb',
    '/x/../cb',
    '/%63b',
    '/cb%00',
    '/cb%20',
    '/cb ',
    ' /cb',
    '/cb?',
    '/cb#',
    '/cb;x',
    '/cb\n',
    '/cb\r\nLocation: https://evil.example',
    '/cb\u0000',
    '/cb\u200b',
    '/\u0441b',
  ].map((path) => `https://client.example${path}`),
  'https://CLIENT.example/cb',
  'https://client.example./cb',
  'https://client\u3002example/cb',
  'https://cl\u0456ent.example/cb',
  'https://client.example',
  'https://www.client.example/cb',
  'cb',
  '/cb',
  '*',
  'null',
  '.',
]

test('200 spellings are tried', () => expect(new Set(spellings).size).toBeGreaterThanOrEqual(200))

test.each(spellings)('%j redirects nobody', async (redirect_uri) => {
  for (const response_type of ['code', 'token']) {
    const query = new URLSearchParams({ client_id: clientId, redirect_uri, response_type })
    expect(await admin.readAuthorizationRequest(query, { scopes: [] })).toMatchObject({ kind: 'refuse' })
  }
})

const numRuns = Number(process.env['AUTHORIZATION_REQUESTS'] ?? 5000)

/** Tells whether a location is a registered URI, with nothing but an answer's parameters added. */
function goesHome(location: string): boolean {
  const [before = ''] = location.split('?', 1)
  // The port of a loopback address may be any. What a browser makes of the text has to agree.
  const { host, hostname, protocol } = new URL(location)
  const withoutPort = before.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d+/, '$1')
  const home = registered.find((uri) => uri === withoutPort)
  if (home === undefined || protocol !== new URL(home).protocol) return false
  return protocol === 'http:' ? hostname === new URL(home).hostname : host === new URL(home).host
}

/** Registered URIs with a few characters inserted, replaced or removed, which is where parsers differ. */
const nearlyRegistered = fc
  .tuple(
    fc.constantFrom(...registered, ...spellings),
    fc.array(fc.tuple(fc.nat(60), fc.nat(2), fc.constantFrom(...'@:/\\#?.%5[]*{}"<\t\n\u0000\u3002e0')), {
      maxLength: 4,
    }),
  )
  .map(([uri, edits]) =>
    edits.reduce((text, [at, removed, added]) => text.slice(0, at) + added + text.slice(at + removed), uri),
  )
const loopback = fc
  .tuple(
    fc.constantFrom('http://127.0.0.1', 'http://[::1]'),
    fc.nat(99_999),
    fc.constantFrom('/cb', '/cb', '/', '', '@x/cb'),
  )
  .map(([host, port, path]) => `${host}:${port}${path}`)
const value = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom('', 'code', 'S256', 'a', 'query'))
const parameter = fc.oneof(
  fc.tuple(fc.constant('redirect_uri'), fc.oneof(nearlyRegistered, loopback, fc.webUrl(), value)),
  fc.tuple(fc.constantFrom('client_id'), fc.oneof(fc.constant('shop'), value)),
  fc.tuple(
    fc.constantFrom(
      'response_type',
      'scope',
      'state',
      'response_mode',
      'code_challenge',
      'code_challenge_method',
      'iss',
    ),
    value,
  ),
)
const request = fc.tuple(
  fc.oneof(nearlyRegistered, loopback, fc.constantFrom(...registered)),
  fc.array(parameter, { maxLength: 4 }),
)

test('whatever is asked for, nobody is sent to another URI', async () => {
  const kinds = { ask: 0, redirect: 0, refuse: 0 }
  await fc.assert(
    fc.asyncProperty(request, fc.boolean(), async ([redirectUri, more], valid) => {
      const query = new URLSearchParams({ client_id: 'shop', redirect_uri: redirectUri })
      if (valid) query.set('response_type', 'code')
      for (const [name, text] of more) query.append(name, text)
      const outcome = await admin.readAuthorizationRequest(query, { scopes: ['a'] })
      kinds[outcome.kind] += 1
      if (outcome.kind === 'redirect') expect(outcome.location).toSatisfy(goesHome)
      if (outcome.kind === 'ask')
        expect((await admin.denyAuthorization(outcome)).location).toSatisfy(goesHome)
    }),
    { numRuns },
  )
  // All three ways were taken often enough to mean something.
  for (const count of Object.values(kinds)) expect(count).toBeGreaterThan(numRuns / 50)
})
