/** Nobody is sent to a URI that the client has not registered, whatever is asked for and however it is spelled. */
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
