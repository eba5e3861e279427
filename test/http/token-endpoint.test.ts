import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { call } from '../storage/support/call.ts'
import { runRows, type Row } from './support/rows.ts'
import {
  basic,
  formRequest,
  jsonRequest,
  rawRequest,
  tokenFields,
  type TokenFields,
} from './support/token-request.ts'
import { redirectUri, type World } from './support/world.ts'

const noStore = { 'Cache-Control': 'no-store' }
const withoutClient = { client_id: undefined, client_secret: undefined }

const invalidGrant = {
  error: 'invalid_grant',
  error_description: 'The authorization code is invalid, expired, spent or not for this request.',
}
const invalidClient = { error: 'invalid_client', error_description: 'Client authentication failed.' }
const malformedHeader = {
  error: 'invalid_client',
  error_description: 'The Authorization header is malformed.',
}
const invalidRequest = (sentence: string): object => ({
  error: 'invalid_request',
  error_description: sentence,
})

function succeeds(name: string, request: Row['request']): Row {
  return {
    name,
    request,
    status: 200,
    headers: { ...noStore, 'Content-Type': 'application/json' },
    check: (_, { json }) => expect(json).toMatchObject({ token_type: 'Bearer', expires_in: 3600 }),
  }
}

function refuses(name: string, status: number, body: object, request: Row['request']): Row {
  return { name, request, status, body, headers: { ...noStore, 'WWW-Authenticate': null } }
}

const looksLikeJson = 'The body looks like JSON: send it with Content-Type: application/json.'
const unquoted = (text: string): string => text.replaceAll('"', '')

const formats: Row[] = [
  succeeds('an empty Authorization header', async (world) =>
    jsonRequest(await tokenFields(world), { Authorization: '' }),
  ),
  succeeds('form body', async (world) => formRequest(await tokenFields(world))),
  succeeds('JSON body with unknown members', async (world) =>
    jsonRequest(await tokenFields(world, { audience: ['a', 'b'], state: null })),
  ),
  succeeds('form body with a repeated unknown field', async (world) => {
    const request = formRequest(await tokenFields(world))
    return { ...request, body: `${String(request.body)}&resource=a&resource=b` }
  }),
  ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="UTF-8"'].map((type) =>
    succeeds(`content type ${type}`, async (world) =>
      jsonRequest(await tokenFields(world), { 'Content-Type': type }),
    ),
  ),
  succeeds('Content-Encoding: nothing', async (world) =>
    jsonRequest(await tokenFields(world), { 'Content-Encoding': '' }),
  ),
  succeeds('Content-Encoding: identity', async (world) =>
    jsonRequest(await tokenFields(world), { 'Content-Encoding': 'identity' }),
  ),
  ...['text/plain', 'application/json, x', 'application/jsonp', 'multipart/form-data; boundary=x', ''].map(
    (type) =>
      refuses(
        `content type "${type}"`,
        415,
        invalidRequest('Content-Type must be application/json or application/x-www-form-urlencoded.'),
        async (world) => jsonRequest(await tokenFields(world), { 'Content-Type': type }),
      ),
  ),
  ...['US-ASCII', 'ISO-8859-1', 'iso-8859-15', '"windows-1252"'].flatMap((charset) => [
    succeeds(`a form, charset "${unquoted(charset)}"`, async (world) =>
      formRequest(await tokenFields(world), {
        'Content-Type': `application/x-www-form-urlencoded; charset=${charset}`,
      }),
    ),
    succeeds(`JSON, charset "${unquoted(charset)}"`, async (world) =>
      jsonRequest(await tokenFields(world), { 'Content-Type': `application/json; charset=${charset}` }),
    ),
    // What these octets mean depends on the charset.
    ...Object.entries({ octets: '\u00e9', 'an escape': '%e9', 'an escape in UTF-8': '%C3%A9' }).map(
      ([what, text]) =>
        refuses(
          `${what} beyond ASCII, charset "${unquoted(charset)}"`,
          400,
          invalidRequest('The charset of Content-Type must be utf-8.'),
          async (world) => {
            const request = formRequest(await tokenFields(world), {
              'Content-Type': `application/x-www-form-urlencoded; charset=${charset}`,
            })
            return { ...request, body: `${String(request.body)}&state=${text}` }
          },
        ),
    ),
  ]),
  ...['utf-16', 'utf-8x', 'utf-8=x', '', 'iso-2022-jp', 'iso-8859-', 'windows-1260', 'us-ascii7'].map(
    (charset) =>
      refuses(
        `charset "${charset}"`,
        400,
        invalidRequest('The charset of Content-Type must be utf-8.'),
        async (world) =>
          jsonRequest(await tokenFields(world), { 'Content-Type': `application/json; charset=${charset}` }),
      ),
  ),
  refuses(
    'Content-Encoding: gzip',
    415,
    invalidRequest('The body must not be encoded (Content-Encoding).'),
    async (world) => jsonRequest(await tokenFields(world), { 'Content-Encoding': 'gzip' }),
  ),
]

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

const malformed: Row[] = [
  ...['', '{', '{"a":1}}', "{'code':'x'}", '\ufeff{}', '{"code":"\\ud83d'].map((body) =>
    refuses(`JSON ${JSON.stringify(body)}`, 400, invalidRequest('The body is not valid JSON.'), () =>
      rawRequest(body, json),
    ),
  ),
  ...['[]', 'null', '1', '"code"', 'true', '[{"code":"x"}]'].map((body) =>
    refuses(`JSON ${body}`, 400, invalidRequest('The body must be a JSON object.'), () =>
      rawRequest(body, json),
    ),
  ),
  refuses('JSON that is no UTF-8', 400, invalidRequest('The body is not valid UTF-8.'), () =>
    rawRequest(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), json),
  ),
  refuses('a form that is no UTF-8', 400, invalidRequest('The body is not valid UTF-8.'), () =>
    rawRequest(Uint8Array.of(0x63, 0x3d, 0xc3), form),
  ),
  ...['code=%', 'code=%zz', 'code=%4'].map((body) =>
    refuses(`form ${body}`, 400, invalidRequest('The body is not valid form data.'), () =>
      rawRequest(body, form),
    ),
  ),
  ...['{"client_id":"x"}', ' {\n  "code": "%"\n}'].map((body) =>
    refuses(`form ${JSON.stringify(body)}`, 400, invalidRequest(looksLikeJson), () => rawRequest(body, form)),
  ),
  refuses('JSON as a form, behind the right Basic', 400, invalidRequest(looksLikeJson), (world) =>
    rawRequest('{}', { ...form, ...basic(world.clientId, world.clientSecret) }),
  ),
  {
    ...refuses('JSON as a form, behind a wrong Basic', 401, invalidClient, (world) =>
      rawRequest('{}', { ...form, ...basic(world.clientId, 'wrong') }),
    ),
    headers: noStore,
  },
  // As the name is: a form has no question mark in front.
  refuses('form ?client_id=x', 400, invalidRequest('client_id is missing.'), () =>
    rawRequest('?client_id=x', form),
  ),
  refuses('an empty form', 400, invalidRequest('client_id is missing.'), () => rawRequest('', form)),
  refuses('a body of 64 KB and one byte', 413, invalidRequest('The body is larger than 65536 bytes.'), () =>
    rawRequest('x'.repeat(65_537), form),
  ),
  refuses('a body of 64 KB, which is read', 400, invalidRequest('client_id is missing.'), () =>
    rawRequest('x'.repeat(65_536), form),
  ),
]

const fieldRows: Row[] = [
  ...['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret'].flatMap((name) => [
    refuses(`empty ${name}`, 400, invalidRequest(`${name} is missing.`), async (world) =>
      jsonRequest(await tokenFields(world, { [name]: '' })),
    ),
    refuses(
      `repeated ${name} in a form`,
      400,
      invalidRequest(`${name} must be sent once.`),
      async (world) => {
        const request = formRequest(await tokenFields(world))
        return { ...request, body: `${String(request.body)}&${name}=again` }
      },
    ),
    refuses(`repeated ${name} in JSON`, 400, invalidRequest(`${name} must be sent once.`), async (world) => {
      const body = JSON.stringify(await tokenFields(world))
      return rawRequest(`{"${name}":"first",${body.slice(1)}`, json)
    }),
  ]),
  refuses('a repeated member in disguise', 400, invalidRequest('code must be sent once.'), async (world) => {
    const body = JSON.stringify(await tokenFields(world))
    return rawRequest(`{"\\u0063ode":"first",${body.slice(1)}`, json)
  }),
  succeeds('a nested member of the same name', async (world) => {
    const body = JSON.stringify(await tokenFields(world))
    return rawRequest(`{"extra":{"code":"inner","x":["code:",{"code":1}]},${body.slice(1)}`, json)
  }),
  ...[{ $ne: '' }, ['x'], null, 7, true].flatMap((value) =>
    ['code', 'client_secret'].map((name) =>
      refuses(
        `${name} ${JSON.stringify(value)}`,
        400,
        invalidRequest(`${name} must be a string.`),
        async (world) => jsonRequest(await tokenFields(world, { [name]: value })),
      ),
    ),
  ),
  ...['a\u0000b', 'caf\u00e9', '\ud83d\ude00', 'a\nb', '\u007f'].map((value) =>
    refuses(
      `client_id ${JSON.stringify(value)}`,
      400,
      invalidRequest('client_id must consist of visible ASCII characters.'),
      async (world) => jsonRequest(await tokenFields(world, { client_id: value })),
    ),
  ),
  refuses(
    'a lone surrogate',
    400,
    invalidRequest('code must consist of visible ASCII characters.'),
    async (world) => {
      const body = JSON.stringify(await tokenFields(world, { code: 'CODE' }))
      return rawRequest(body.replace('CODE', '\\ud800'), json)
    },
  ),
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((value) =>
    refuses(`client_id ${value}`, 401, invalidClient, async (world) =>
      jsonRequest(await tokenFields(world, { client_id: value })),
    ),
  ),
  refuses('a wrong client_secret and no code', 401, invalidClient, async (world) =>
    jsonRequest(await tokenFields(world, { client_secret: 'wrong', code: '', grant_type: '' })),
  ),
  refuses('no client_secret and no code', 400, invalidRequest('client_secret is missing.'), async (world) =>
    jsonRequest(await tokenFields(world, { client_secret: '', code: '' })),
  ),
  refuses('fields under __proto__', 400, invalidRequest('client_id is missing.'), async (world) =>
    rawRequest(`{"__proto__":${JSON.stringify(await tokenFields(world))}}`, json),
  ),
  {
    name: 'fields in the query are ignored',
    request: async (world) => {
      const request = formRequest(await tokenFields(world, withoutClient))
      return {
        ...request,
        path: `${request.path}?client_id=${world.clientId}&client_secret=${world.clientSecret}`,
      }
    },
    status: 400,
    body: invalidRequest('client_id is missing.'),
  },
]

const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index)).join('')

/** HTTP Basic as RFC 7617 alone has it: both halves as they are. */
function rawBasic(clientId: string, clientSecret: string): { Authorization: string } {
  return { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
}

async function clientWith(
  world: World,
  clientSecret: string,
  id?: string,
): Promise<{ clientId: string; code: string }> {
  const own = { clientSecret, redirectUris: [redirectUri], ...(id !== undefined && { clientId: id }) }
  const { clientId } = await world.admin.createClient(own)
  const { code } = await world.admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  return { clientId, code }
}

const clientRows: Row[] = [
  succeeds('HTTP Basic with a form', async (world) =>
    formRequest(await tokenFields(world, withoutClient), basic(world.clientId, world.clientSecret)),
  ),
  succeeds('HTTP Basic with JSON', async (world) =>
    jsonRequest(await tokenFields(world, withoutClient), basic(world.clientId, world.clientSecret)),
  ),
  succeeds('HTTP Basic beside the same client_id', async (world) =>
    formRequest(
      await tokenFields(world, { client_secret: undefined }),
      basic(world.clientId, world.clientSecret),
    ),
  ),
  succeeds('HTTP Basic with halves that need decoding', async (world) => {
    const clientId = `a client/ ${randomBytes(4).toString('hex')}%+&`.replaceAll(' ', '_')
    const clientSecret = 'secret with spaces, 100% + more: 0123456789'
    await world.admin.createClient({ clientId, clientSecret, redirectUris: [redirectUri] })
    const { code } = await world.admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    return formRequest(await tokenFields(world, { ...withoutClient, code }), basic(clientId, clientSecret))
  }),
  succeeds('HTTP Basic beside the same client_id and client_secret', async (world) =>
    formRequest(await tokenFields(world), basic(world.clientId, world.clientSecret)),
  ),
  refuses(
    'HTTP Basic beside another client_secret',
    400,
    invalidRequest('client_secret must match the one in the Authorization header.'),
    async (world) =>
      formRequest(
        await tokenFields(world, { client_secret: `${world.clientSecret}x` }),
        basic(world.clientId, world.clientSecret),
      ),
  ),
  // Every printable character, as most libraries send it and as RFC 6749 has it.
  ...Object.entries({ encoded: basic, 'as it is': rawBasic }).flatMap(([name, header]) =>
    [printable, '100%25+%41%zz is a secret: 012345678', 'ends in an escape 0123456789012345%'].flatMap(
      (clientSecret) => [
        succeeds(`HTTP Basic, the secret ${name}: ${clientSecret}`, async (world) => {
          const { clientId, code } = await clientWith(world, clientSecret)
          return formRequest(
            await tokenFields(world, { ...withoutClient, code }),
            header(clientId, clientSecret),
          )
        }),
        succeeds(`HTTP Basic beside the same client_secret, ${name}: ${clientSecret}`, async (world) => {
          const { clientId, code } = await clientWith(world, clientSecret)
          return formRequest(
            await tokenFields(world, { code, client_id: clientId, client_secret: clientSecret }),
            header(clientId, clientSecret),
          )
        }),
      ],
    ),
  ),
  {
    name: 'HTTP Basic: a secret that is right once decoded twice',
    request: async (world) => {
      const { clientId, code } = await clientWith(world, printable)
      const twice = new URLSearchParams([['', printable]]).toString().slice(1)
      return formRequest(await tokenFields(world, { ...withoutClient, code }), basic(clientId, twice))
    },
    status: 401,
    body: invalidClient,
  },
  {
    name: 'HTTP Basic: an identifier that is right only as it was sent',
    request: async (world) => {
      const clientId = `a%41+${randomBytes(4).toString('hex')}`
      const { code } = await clientWith(world, printable, clientId)
      return formRequest(await tokenFields(world, { ...withoutClient, code }), rawBasic(clientId, printable))
    },
    status: 401,
    body: invalidClient,
  },
  refuses(
    'HTTP Basic beside another client_id',
    400,
    invalidRequest('client_id must match the one in the Authorization header.'),
    async (world) =>
      formRequest(
        await tokenFields(world, { client_id: 'other', client_secret: undefined }),
        basic(world.clientId, world.clientSecret),
      ),
  ),
  refuses('unknown client in the body', 401, invalidClient, async (world) =>
    jsonRequest(await tokenFields(world, { client_id: 'nobody' })),
  ),
  refuses('wrong secret in the body', 401, invalidClient, async (world) =>
    jsonRequest(await tokenFields(world, { client_secret: `${world.clientSecret.slice(0, -1)}!` })),
  ),
  ...Object.entries<(world: World) => Record<string, string>>({
    'wrong secret': ({ clientId }) => basic(clientId, 'wrong'),
    'unknown client': () => basic('nobody', 'wrong'),
    'no base64': () => ({ Authorization: 'Basic ???' }),
    'base64 without its padding': ({ clientId, clientSecret }) => ({
      Authorization: basic(clientId, clientSecret).Authorization.replace(/=+$/, ''),
    }),
    'no colon': () => ({ Authorization: `Basic ${btoa('client')}` }),
    'empty secret': ({ clientId }) => ({ Authorization: `Basic ${btoa(`${clientId}:`)}` }),
    'a broken escape': () => ({ Authorization: `Basic ${btoa('a%zz:b')}` }),
    'another scheme': ({ clientSecret }) => ({ Authorization: `Bearer ${clientSecret}` }),
    'something after': ({ clientId, clientSecret }) => ({
      Authorization: `${basic(clientId, clientSecret).Authorization}, x`,
    }),
  }).map(([name, headers]): Row => ({
    name: `HTTP Basic: ${name}`,
    request: async (world) => formRequest(await tokenFields(world, withoutClient), headers(world)),
    status: 401,
    headers: { ...noStore, 'WWW-Authenticate': 'Basic realm="utility-api"' },
    check: (_, answer) => expect(answer.json).toMatchObject({ error: 'invalid_client' }),
  })),
  ...['a%00:b', 'a:\u0000', 'a:\u00e4', '%C3%A4:b', 'a%7F:b', 'a%0A:b'].map((text): Row => ({
    name: `HTTP Basic with what no client has: ${text}`,
    request: async (world) =>
      formRequest(await tokenFields(world, withoutClient), { Authorization: `Basic ${btoa(text)}` }),
    status: 401,
    headers: { ...noStore, 'WWW-Authenticate': 'Basic realm="utility-api"' },
    check: (_, answer) => expect(answer.json).toEqual(malformedHeader),
  })),
  refuses('a revoked client', 401, invalidClient, async (world) => {
    const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [redirectUri] })
    const { code } = await world.admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    await world.admin.revokeClient(clientId)
    return jsonRequest(await tokenFields(world, { code, client_id: clientId, client_secret: clientSecret }))
  }),
  refuses(
    'a client without redirection URI',
    400,
    {
      error: 'unauthorized_client',
      error_description: 'The client has no redirection URI, so it cannot use a code.',
    },
    async (world) => {
      const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [] })
      return jsonRequest(await tokenFields(world, { client_id: clientId, client_secret: clientSecret }))
    },
  ),
  ...[0, 1].map((rotations) =>
    succeeds(`a secret after ${rotations} rotations of it`, async (world) => {
      const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [redirectUri] })
      for (let count = 0; count < rotations; count += 1) await world.admin.rotateClientSecret(clientId)
      const { code } = await world.admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
      return jsonRequest(await tokenFields(world, { code, client_id: clientId, client_secret: clientSecret }))
    }),
  ),
  succeeds('the new secret right after a rotation', async (world) => {
    const { clientId } = await world.admin.createClient({ redirectUris: [redirectUri] })
    const { clientSecret } = await world.admin.rotateClientSecret(clientId)
    const { code } = await world.admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    return jsonRequest(await tokenFields(world, { code, client_id: clientId, client_secret: clientSecret }))
  }),
  refuses('a secret two rotations old', 401, invalidClient, async (world) => {
    const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [redirectUri] })
    await world.admin.rotateClientSecret(clientId)
    await world.admin.rotateClientSecret(clientId)
    return jsonRequest(await tokenFields(world, { client_id: clientId, client_secret: clientSecret }))
  }),
]

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
/** The challenge of RFC 7636 appendix B. */
const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** A request that is refused for its code alone; the same code must still buy a token afterwards. */
function keepsCode(
  name: string,
  wrong: (world: World) => TokenFields | Promise<TokenFields>,
  options = {},
): Row {
  let spared = ''
  const right = 'codeChallenge' in options ? { code_verifier: verifier } : {}
  return {
    ...refuses(name, 400, invalidGrant, async (world) => {
      spared = await world.issueCode(options)
      return jsonRequest(await tokenFields(world, { code: spared, ...right, ...(await wrong(world)) }))
    }),
    check: async (world) => {
      const again = await world.send(jsonRequest(await tokenFields(world, { code: spared, ...right })))
      expect(again.status).toBe(200)
    },
  }
}

async function otherClient(world: World): Promise<TokenFields> {
  const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [redirectUri] })
  return { client_id: clientId, client_secret: clientSecret }
}

const codeRows: Row[] = [
  refuses('an unknown code', 400, invalidGrant, async (world) =>
    jsonRequest(await tokenFields(world, { code: 'uapi_ac_unknown' })),
  ),
  keepsCode("another client's code", otherClient),
  ...[`${redirectUri}/`, `${redirectUri}?`, redirectUri.toUpperCase(), 'https://client.example/callbacK'].map(
    (uri) => keepsCode(`redirect_uri ${uri}`, () => ({ redirect_uri: uri })),
  ),
  keepsCode('a missing verifier', () => ({ code_verifier: undefined }), { codeChallenge }),
  keepsCode('a wrong verifier', () => ({ code_verifier: verifier.replace('d', 'e') }), { codeChallenge }),
  keepsCode('the challenge as verifier (method plain)', () => ({ code_verifier: codeChallenge }), {
    codeChallenge,
  }),
  succeeds('the right verifier', async (world) =>
    jsonRequest(
      await tokenFields(world, { code: await world.issueCode({ codeChallenge }), code_verifier: verifier }),
    ),
  ),
  // As git-credential-oauth has made them.
  succeeds('a verifier in base64 with padding', async (world) => {
    const padded = 'q8+/3Wm0bC+dE/fG5hIjK+lMnOpQrStUvWxYz012345='
    const challenge = createHash('sha256').update(padded).digest('base64url')
    const code = await world.issueCode({ codeChallenge: challenge })
    return formRequest(await tokenFields(world, { code, code_verifier: padded }))
  }),
  refuses(
    'a verifier that nobody asked for',
    400,
    invalidRequest('code_verifier was sent, but the code was issued without a challenge.'),
    async (world) => jsonRequest(await tokenFields(world, { code_verifier: verifier })),
  ),
  ...['x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(43)} `, `${'x'.repeat(43)}\u00e4`].map((text) =>
    refuses(
      `a verifier of ${text.length} characters ending in ${text.at(-1)}`,
      400,
      invalidRequest('code_verifier must have 43 to 128 visible ASCII characters.'),
      async (world) => jsonRequest(await tokenFields(world, { code_verifier: text })),
    ),
  ),
  refuses(
    'another grant type',
    400,
    { error: 'unsupported_grant_type', error_description: 'grant_type must be authorization_code.' },
    async (world) => jsonRequest(await tokenFields(world, { grant_type: 'client_credentials' })),
  ),
  ...['client_credentials', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'].map(
    (grantType) =>
      refuses(
        `grant type ${grantType}, with its own fields`,
        400,
        { error: 'unsupported_grant_type', error_description: 'grant_type must be authorization_code.' },
        ({ clientId, clientSecret }) =>
          formRequest({
            grant_type: grantType,
            client_id: clientId,
            client_secret: clientSecret,
            refresh_token: 'x',
          }),
      ),
  ),
  succeeds('a code in its last millisecond', async (world) => {
    const fields = await tokenFields(world)
    world.clock.advance(59_999)
    return jsonRequest(fields)
  }),
  refuses('a code that has just expired', 400, invalidGrant, async (world) => {
    const fields = await tokenFields(world)
    world.clock.advance(60_000)
    return jsonRequest(fields)
  }),
]

async function isAccepted(world: World, accessToken: string): Promise<boolean> {
  const { status } = await world.send({
    method: 'GET',
    path: '/v3/tools/dnscheck',
    headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
  })
  return status === 200
}

/** Exchanges a code, uses it again in some way, and tells whether the first token still opens a door. */
function replay(
  name: string,
  again: (world: World) => TokenFields | Promise<TokenFields>,
  staysValid: boolean,
): Row {
  let first = ''
  return {
    name,
    request: async (world) => {
      const fields = await tokenFields(world)
      const { json: body } = await world.send(jsonRequest(fields))
      first = (body as { access_token: string }).access_token
      expect(await isAccepted(world, first)).toBe(true)
      return jsonRequest({ ...fields, ...(await again(world)) })
    },
    status: 400,
    body: invalidGrant,
    check: async (world) => expect(await isAccepted(world, first)).toBe(staysValid),
  }
}

const replayRows: Row[] = [
  replay('a replay revokes the first token', () => ({}), false),
  replay(
    'a replay revokes the first token even after the code has expired',
    (world) => {
      world.clock.advance(61_000)
      return {}
    },
    false,
  ),
  replay("another client's replay revokes nothing", otherClient, true),
  replay(
    'a replay with another redirect_uri revokes nothing',
    () => ({ redirect_uri: `${redirectUri}/` }),
    true,
  ),
]

const storedRows: Row[] = [
  {
    name: 'only hashes are stored',
    request: async (world) => jsonRequest(await tokenFields(world)),
    status: 200,
    check: async ({ storage, clientId, clientSecret }, { json: body }) => {
      const { access_token: token } = body as { access_token: string }
      const credential = await storage.findCredential('access_token', hashSecret(token), call)
      expect(credential).toMatchObject({ ownerId: clientId, scope: 'dns:check', revokedAt: null })
      const client = await storage.findClient(clientId, call)
      const sha256 = createHash('sha256').update(clientSecret).digest()
      expect(client?.secretHashes.map((hash) => Buffer.from(hash).equals(sha256))).toStrictEqual([true])
      expect(JSON.stringify(client)).not.toContain(clientSecret)
    },
  },
  {
    name: 'a token stops at the end of its lifetime, not before',
    request: async (world) => jsonRequest(await tokenFields(world)),
    status: 200,
    check: async (world, { json: body }) => {
      const { access_token: token } = body as { access_token: string }
      world.clock.advance(3_599_999)
      expect(await isAccepted(world, token)).toBe(true)
      world.clock.advance(1)
      expect(await isAccepted(world, token)).toBe(false)
    },
  },
  ...['GET', 'PUT', 'DELETE', 'HEAD'].map((method): Row => ({
    name: `method ${method}`,
    request: () => ({ method, path: '/v4/oauth2/token' }),
    status: 405,
    headers: { ...noStore, Allow: 'POST, OPTIONS' },
    check: (_, answer) => {
      if (method !== 'HEAD') expect(answer.json).toMatchObject({ error: 'invalid_request' })
    },
  })),
]

runRows('Token endpoint', [
  ...formats,
  ...malformed,
  ...fieldRows,
  ...clientRows,
  ...codeRows,
  ...replayRows,
  ...storedRows,
])

runRows("Token endpoint with onReplay: 'deny'", [replay('a replay revokes nothing', () => ({}), true)], {
  oauth: { onReplay: 'deny' },
})

runRows(
  'Token endpoint with a lifetime of its own and an errorBody',
  [
    {
      name: 'says the lifetime in seconds',
      request: async (world) => jsonRequest(await tokenFields(world)),
      status: 200,
      check: (_, answer) => expect(answer.json).toMatchObject({ expires_in: 120 }),
    },
    refuses('keeps the one shape of error that OAuth clients know', 401, invalidClient, async (world) =>
      jsonRequest(await tokenFields(world, { client_secret: 'wrong' })),
    ),
  ],
  { oauth: { accessTokenLifetimeSeconds: 120 }, errorBody: () => ({ reshaped: true }) },
)
