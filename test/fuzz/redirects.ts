import assert from 'node:assert/strict'
import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { demandRedirectUris, isRedirectUri, isRegistered } from '../../src/admin/redirect-uri.ts'
import { texts, unlessRefused, type FuzzTarget } from './target.ts'

const registered = [
  'https://client.example/cb',
  'http://127.0.0.1/cb',
  'http://[::1]/cb',
  'com.example.app:/cb',
  'https://client.example/cb?a=b',
]
const admin = createAdmin({ storage: memoryStorage(), oauth: { issuer: 'https://auth.example' } })
await admin.createClient({ clientId: 'shop', redirectUris: registered })

/** Tells whether a location is a registered URI, with nothing but an answer's parameters added. */
function goesHome(location: string): boolean {
  // The port of a loopback address may be any. What a browser makes of the text has to agree.
  const { host, hostname, protocol } = new URL(location)
  const withoutPort = location.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d+/, '$1')
  const home = registered.find((uri) => withoutPort.startsWith(`${uri}${uri.includes('?') ? '&' : '?'}`))
  if (home === undefined || protocol !== new URL(home).protocol) return false
  return protocol === 'http:' ? hostname === new URL(home).hostname : host === new URL(home).host
}

export const redirectTargets: readonly FuzzTarget[] = [
  {
    name: 'an authorization request',
    corpus: [
      ...registered,
      'https://client.example@evil.example/cb',
      'http://127.0.0.1:80\\@evil.example/cb',
      'http://[::1]:8080/cb',
    ].map((uri, index) => {
      const response_type = index % 3 === 0 ? 'token' : 'code'
      const more = { state: 's', scope: 'a', code_challenge_method: 'S256' }
      return Buffer.from(
        String(new URLSearchParams({ client_id: 'shop', redirect_uri: uri, response_type, ...more })),
      )
    }),
    async check(input) {
      const query = new URLSearchParams(input.toString())
      const outcome = await admin.readAuthorizationRequest(query, { scopes: ['a'] })
      if (outcome.kind === 'refuse') return
      const denied = outcome.kind === 'ask' ? await admin.denyAuthorization(outcome) : outcome
      assert(goesHome(denied.location), denied.location)
      assert.equal(
        new URL(denied.location).searchParams.get('state'),
        query.getAll('state').length === 1 ? query.get('state') || null : null,
      )
    },
  },
  {
    name: 'a redirection URI',
    corpus: texts(
      ...registered,
      'https://a.example:8443/x?y=z',
      'http://localhost:1/',
      'https://u:p@a.example/',
      'https://[2001:db8::1]/',
    ),
    check(input) {
      const text = input.toString()
      const isTaken = unlessRefused(() => (demandRedirectUris([text]), true), ['invalid_argument']) === true
      assert.equal(isTaken, isRedirectUri(text))
      if (!isTaken) return
      const { protocol, username, password, hash, host } = new URL(text)
      assert.equal(username + password + hash, '')
      assert(/^https?:$/.test(protocol) ? host !== '' : protocol.includes('.'))
      assert(protocol !== 'http:' || /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/.test(host), host)
      assert(isRegistered(text, { redirectUris: [text] } as never))
      const [, authority = ''] = /^https?:\/\/([^/?]*)/i.exec(text) ?? []
      if (/^[a-z.-]+$/i.test(authority)) assert.equal(host, authority.toLowerCase())
    },
  },
]
