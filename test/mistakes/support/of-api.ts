import { called, type Mistakes } from './mistake.ts'
import { anyFunction, api } from './values.ts'

export const ofTheApi: Mistakes = {
  fetch: [
    [
      'a URL',
      called(api.fetch, 'http://localhost/'),
      'request must be a Request of the Fetch standard: write new Request(url), or mount toNodeHandler(api) or toExpressHandler(api).',
    ],
  ],
  dispatch: [
    [
      'a Request',
      called(api.dispatch, new Request('http://localhost/')),
      'request must be a view of a request, with a url and a header function.',
    ],
  ],
  checkDns: [
    [
      'a name and a type',
      called(api.checkDns, 'a.example', 'A'),
      'question must be an object: write checkDns({ domain, recordType }).',
    ],
    [
      'another name',
      called(api.checkDns, { domain: 'a.example', type: 'A' }),
      'type is not known here, only domain, recordType.',
    ],
    [
      'a callback',
      called(api.checkDns, { domain: 'a.example', recordType: 'A' }, anyFunction),
      'options must be an object: write { signal, caller, onAnswer }.',
    ],
  ],
  lookUpGameServer: [
    [
      'a host',
      called(api.lookUpGameServer, 'play.example.com'),
      'server must be an object: write lookUpGameServer({ address }).',
    ],
    [
      'another name',
      called(api.lookUpGameServer, { host: 'play.example.com' }),
      'host is not known here, only address, port.',
    ],
    [
      'a URL',
      called(api.lookUpGameServer, { address: 'https://play.example.com' }),
      'address must be host, host:port or [IPv6]:port, not a URL, and port a port.',
    ],
    [
      'a word for a port',
      called(api.lookUpGameServer, { address: 'play.example.com', port: 'x' }),
      'address must be host, host:port or [IPv6]:port, not a URL, and port a port.',
    ],
  ],
  verifyAccessToken: [
    [
      'a request',
      called(api.verifyAccessToken, new Request('http://localhost/')),
      'token must be a string: write bearerToken(request.headers.authorization).',
    ],
    [
      'a scope alone',
      called(api.verifyAccessToken, 'token', 'orders:read'),
      'options must be an object: write { scope }.',
    ],
    [
      'another name',
      called(api.verifyAccessToken, 'token', { scopes: 'a' }),
      'scopes is not an option: use scope.',
    ],
  ],
  verifyResellerToken: [
    [
      'a scope',
      called(api.verifyResellerToken, 'token', { scope: 'a' }),
      'options: a reseller token has no scope.',
    ],
  ],
  verifyApiKey: [
    [
      'a permission alone',
      called(api.verifyApiKey, 'key', 'orders:read'),
      'options must be an object: write { permission }.',
    ],
    ['headers', called(api.verifyApiKey, {}), 'apiKey must be a string: write request.headers.basic.'],
  ],
  findLicense: [['nothing', called(api.findLicense), 'licenseKey must be a string.']],
  signLicense: [
    [
      'no key to sign',
      called(api.signLicense, 'LIC-1', 60),
      'licenses.signingKey: is needed to sign licenses.',
    ],
  ],
  licenseJwks: [
    ['no key to sign', called(api.licenseJwks), 'licenses.signingKey: is needed to sign licenses.'],
  ],
}
