import { expect } from 'vitest'
import { runRows, type Row } from './support/rows.ts'
import { licenseHeaders, type World } from './support/world.ts'
import { tokenFields } from './support/token-request.ts'

const bearer = (token: string): { Authorization: string } => ({ Authorization: `Bearer ${token}` })

function json(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) }
}

async function exchange(
  world: World,
  changes: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return await tokenFields(world, changes)
}

const tokenPath = { method: 'POST', path: '/v4/oauth2/token' }
const missing = (name: string): object => ({
  error: 'invalid_request',
  message: `The header ${name} is missing.`,
})
const missingField = (name: string): object => ({
  error: 'invalid_request',
  error_description: `${name} is missing.`,
})

const tokenRows: Row[] = [
  {
    name: '4.1 exchanges a code for a token',
    request: async (world) => ({ ...tokenPath, ...json(await exchange(world)) }),
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    check: (_, { json: body }) => {
      expect(body).toStrictEqual({
        access_token: expect.stringMatching(/^uapi_at_\w{42}$/),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'dns:check',
      })
    },
  },
  {
    name: '4.1 answers an empty scope as an empty string',
    request: async (world) => ({
      ...tokenPath,
      ...json(await exchange(world, { code: await world.issueCode({ scope: '' }) })),
    }),
    status: 200,
    check: (_, { json: body }) => expect(body).toMatchObject({ scope: '' }),
  },
  ...['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret'].flatMap((name): Row[] => [
    {
      name: `4.1 refuses a missing ${name}`,
      request: async (world) => ({ ...tokenPath, ...json(await exchange(world, { [name]: undefined })) }),
      status: 400,
      body: missingField(name),
      headers: { 'Cache-Control': 'no-store', 'WWW-Authenticate': null },
    },
    {
      name: `4.1 refuses a ${name} that is no string`,
      request: async (world) => ({ ...tokenPath, ...json(await exchange(world, { [name]: [name] })) }),
      status: 400,
      body: { error: 'invalid_request', error_description: `${name} must be a string.` },
    },
  ]),
]

const updatePath = async (world: World): Promise<{ method: string; path: string }> => ({
  method: 'PUT',
  path: `/v2/reseller/${await world.generate()}/update`,
})

const updateRows: Row[] = [
  ...Object.entries({
    'X-Registered-To': 'Grace Hopper',
    'X-Domain-Or-IP': '192.0.2.7',
    'X-Status': 'invalid',
  }).map(([name, value]): Row => ({
    name: `4.2 updates by ${name} alone`,
    request: async (world) => ({
      ...(await updatePath(world)),
      headers: { ...bearer(world.resellerToken), [name]: value },
    }),
    status: 200,
    body: { message: 'License updated.' },
    headers: { 'Content-Type': 'application/json' },
  })),
  {
    name: '4.2 changes only what was sent',
    request: async (world) => ({
      ...(await updatePath(world)),
      headers: { ...bearer(world.resellerToken), 'X-Status': 'invalid' },
    }),
    status: 200,
    check: async (world) => {
      const { licenses } = await world.admin.listLicenses({ limit: 1000 })
      expect(licenses.at(-1)).toMatchObject({
        registeredTo: 'Ada Lovelace',
        domainOrIp: 'example.com',
        status: 'invalid',
      })
    },
  },
  {
    name: '4.2 sets the status that is sent, from each to each',
    request: async (world) => {
      const request = await updatePath(world)
      for (const status of ['valid', 'invalid', 'invalid', 'valid']) {
        const headers = { ...bearer(world.resellerToken), 'X-Status': status }
        expect((await world.send({ ...request, headers })).status).toBe(200)
        expect((await world.admin.listLicenses({ limit: 1000 })).licenses.at(-1)).toMatchObject({ status })
      }
      return { ...request, headers: { ...bearer(world.resellerToken), 'X-Status': 'invalid' } }
    },
    status: 200,
  },
  {
    name: '4.2 demands at least one field',
    request: async (world) => ({ ...(await updatePath(world)), headers: bearer(world.resellerToken) }),
    status: 400,
    body: {
      error: 'invalid_request',
      message: 'Send at least one of the headers X-Registered-To, X-Domain-Or-IP, X-Status.',
    },
  },
]

const generatePath = { method: 'POST', path: '/v2/reseller/licenses/generate' }

const generateRows: Row[] = [
  {
    name: '4.3 generates a license',
    request: (world) => ({ ...generatePath, headers: { ...bearer(world.resellerToken), ...licenseHeaders } }),
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    check: async (world, { json: body }) => {
      expect(body).toStrictEqual({
        message: 'License generated.',
        data: {
          registered_to: 'Ada Lovelace',
          domain_or_ip: 'example.com',
          license_key: expect.stringMatching(/^LIC-[0-9A-Z]{5}(-[0-9A-Z]{5}){4}$/),
          status: 'valid',
        },
      })
      const { data } = body as { data: { license_key: string } }
      expect(await world.admin.getLicense(data.license_key)).toMatchObject({ resellerId: world.resellerId })
    },
  },
  ...Object.keys(licenseHeaders).map((name): Row => ({
    name: `4.3 demands ${name}`,
    request: (world) => ({
      ...generatePath,
      headers: { ...bearer(world.resellerToken), ...licenseHeaders, [name]: '' },
    }),
    status: 400,
    body: missing(name),
  })),
]

const dnsPath = { method: 'GET', path: '/v3/tools/dnscheck' }

const dnsRows: Row[] = [
  {
    name: '4.4 checks a domain at every location',
    request: (world) => ({
      ...dnsPath,
      headers: { ...bearer(world.accessToken), 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
    }),
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    check: (_, { json: body }) => {
      expect(body).toStrictEqual(
        ['Here', 'There'].map((location) => ({
          location,
          ip: '127.0.0.1',
          provider: 'Loopback',
          dns_results: [{ type: 'A', host: 'example.com', ttl: 300, ip: '192.0.2.10' }],
          resolved: true,
          status: 'NOERROR',
          latency_ms: expect.any(Number),
          transport: 'udp',
        })),
      )
    },
  },
  {
    name: '4.4 answers a name that does not resolve',
    request: (world) => ({
      ...dnsPath,
      headers: { ...bearer(world.accessToken), 'X-Domain': 'missing.example.com', 'X-Record-Type': 'a' },
    }),
    status: 200,
    check: (_, { json: body }) =>
      expect(body).toMatchObject([
        { location: 'Here', dns_results: [], resolved: false, status: 'NXDOMAIN' },
        { location: 'There', dns_results: [], resolved: false, status: 'NXDOMAIN' },
      ]),
  },
  ...['X-Domain', 'X-Record-Type'].map((name): Row => ({
    name: `4.4 demands ${name}`,
    request: (world) => ({
      ...dnsPath,
      headers: { ...bearer(world.accessToken), 'X-Domain': 'example.com', 'X-Record-Type': 'A', [name]: '' },
    }),
    status: 400,
    body: missing(name),
  })),
  // The last one is the UTF-8 of N and a long s, whose upper case is S.
  ...['ANY', 'AXFR', '__proto__', 'A,MX', 'HTTPS', '1', 'N\xc5\xbf'].map((type): Row => ({
    name: `4.4 refuses the record type ${type}`,
    request: (world) => ({
      ...dnsPath,
      headers: { ...bearer(world.accessToken), 'X-Domain': 'example.com', 'X-Record-Type': type },
    }),
    status: 400,
    body: {
      error: 'invalid_request',
      message: 'X-Record-Type must be one of A, AAAA, MX, NS, PTR, CNAME, SOA, TXT, SRV, CAA, DS, DNSKEY.',
    },
  })),
]

const lookupPath = { method: 'GET', path: '/v4/games/blockgame/lookup' }

const lookupRows: Row[] = [
  {
    name: '4.5 looks a server up',
    request: ({ apiKey, game }) => ({
      ...lookupPath,
      headers: { Basic: apiKey, 'X-Address': game.ip, 'X-Port': String(game.port) },
    }),
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    check: ({ game }, { json: body }) => {
      expect(body).toStrictEqual({
        ip: game.ip,
        port: String(game.port),
        players: { online: 3, max: 20 },
        version: { name: '1.21.4', protocol: 769 },
        ping: expect.stringMatching(/^\d+ms$/),
        srvRecord: {},
      })
    },
  },
  ...['0', '65536', 'abc', '25565.0', '-1', '1e4'].map((port): Row => ({
    name: `4.5 refuses the port ${port}`,
    request: ({ apiKey }) => ({
      ...lookupPath,
      headers: { Basic: apiKey, 'X-Address': '192.0.2.1', 'X-Port': port },
    }),
    status: 400,
    check: (_, { json: body }) => expect(body).toMatchObject({ error: 'invalid_request' }),
  })),
]

runRows('Section 4', [...tokenRows, ...updateRows, ...generateRows, ...dnsRows, ...lookupRows])
