import { createAdmin, createUtilityApi, type DnsCheckResult, type RequestLike } from 'utility-api'
import * as main from 'utility-api'
import * as blockgame from 'utility-api/blockgame'
import * as dns from 'utility-api/dns'
import * as storageEntry from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { addressIn, forwardedAddress } from '../../../adapters/http/client-address.ts'
import { isLikeConnection } from '../../../adapters/cli/database/location.ts'
import { redactorOf } from '../../../adapters/cli/database/redact.ts'
import { withoutPasswords } from '../../../adapters/cli/terminal/passwords.ts'
import { cut, printable, widthOf, wrap } from '../../../adapters/cli/terminal/terminal-text.ts'
import { demandRedirectUris, isRedirectUri, isRegistered } from '../../../src/admin/redirect-uri.ts'
import { isScope, isScopeName, permits } from '../../../src/domain/credentials.ts'
import { searchedForms } from '../../../src/domain/compared-domain.ts'
import { recordTypes } from '../../../src/domain/dns-record.ts'
import { parseDnsName } from '../../../src/domain/dns-name.ts'
import { contentOfRecord } from '../../../src/domain/dns-record-content.ts'
import { decodeHeaderText, hasAtMostCodePoints, isPlainText } from '../../../src/domain/header-text.ts'
import { parseHostName } from '../../../src/domain/host-name.ts'
import { isDnsServerAddress, parseIpAddress, parseNetwork } from '../../../src/domain/ip-address.ts'
import { parseLicenseKey } from '../../../src/domain/license-key.ts'
import { problemOfDomainOrIp, problemOfLicenseText } from '../../../src/domain/license-rules.ts'
import { hashSecret, isMistyped, kindOfSecret, matchesSecret } from '../../../src/domain/secret.ts'
import { parseServerAddress, spelledHostOf } from '../../../src/domain/server-address.ts'
import { bodyParserFor } from '../../../src/http/body-parser.ts'
import type { Work } from './growth.ts'

/** What the public entries export, by name. */
export const exported: Readonly<Record<string, unknown>> = { ...main, ...dns, ...blockgame, ...storageEntry }

const storage = memoryStorage()
const api = createUtilityApi({ storage, logger: false })
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: ['https://client.example/'] })
const { token } = await admin.createReseller()
const { accessToken } = await admin.createAccessToken({
  clientId,
  scope: 'dns:check',
  lifetimeSeconds: 86_400,
})
const { apiKey } = await admin.createApiKey()

function send(line: string, headers: Readonly<Record<string, string>>, body = ''): unknown {
  const [method = '', ...url] = line.split(' ')
  const all = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const request: RequestLike = {
    method,
    url: url.join(' '),
    header: (name) => all.get(name.toLowerCase()) ?? null,
    body: (maxBytes) => Promise.resolve(Buffer.from(body).subarray(0, maxBytes + 1)),
  }
  return api.dispatch(request).then(({ written }) => written())
}

/** Answers nobody: no question leaves the process. */
const nobody = { query: () => Promise.reject(new Error('There is no resolver.')), close: async () => {} }
const bearer = { Authorization: `Bearer ${token}` }
const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const license = { ...bearer, 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'a.example', 'X-Status': 'valid' }

function bodyOf(type: string, text: string): unknown {
  const request = { header: (name: string) => (name === 'Content-Type' ? type : null) } as RequestLike
  return bodyParserFor(request)(Buffer.from(text), ['code', 'client_id']).get('code')
}

const result = (txt: string): DnsCheckResult => ({
  location: txt,
  ip: txt,
  provider: txt,
  dns_results: [{ type: 'TXT', host: txt, ttl: 1, txt, entries: [txt] }],
  resolved: true,
  status: 'NOERROR',
  latency_ms: 1,
})

function legacyReply(text: string): Uint8Array {
  const octets = Buffer.from(text.slice(0, 2000), 'utf16le').swap16()
  return Buffer.concat([Buffer.of(0xff, 0, 0), octets]).fill(octets.length / 2, 2, 3)
}

function packet(text: string): Buffer {
  const octets = Buffer.from(text)
  const head = Buffer.alloc(10)
  const end = blockgame.writeVarInt(head, 0, octets.length)
  return Buffer.concat([head.subarray(0, end), octets])
}

/** What takes a stranger's text, by name: each exported function under its own, perhaps with what else it takes. */
export const entries: Readonly<Record<string, Work>> = {
  bearerToken: (text) => main.bearerToken(text),
  'bearerToken, a list': (text) => main.bearerToken([text, text]),
  coversHost: (text) => main.coversHost(text, text),
  licenseIsGood: (text) => main.licenseIsGood({ domainOrIp: text, status: text, expiresAt: null }, text),
  'coversHost, a wildcard': (text) => main.coversHost('*.a.example', text),
  createAdmin: (text) => createAdmin({ storage, licenses: { keyPrefix: text } }),
  createUtilityApi: (text) => createUtilityApi({ storage, basePath: text }),
  isPublicAddress: (text) => main.isPublicAddress(text),
  randomKeys: (text) => main.randomKeys().parseLicenseKey(text, 'LIC-'),
  'randomKeys, a prefix': (text) => main.randomKeys().parseLicenseKey(text, text),
  recordText: (text) => main.recordText({ type: 'TXT', host: '.', ttl: 0, txt: text, entries: [text] }),
  'recordText, a tag': (text) =>
    main.recordText({ type: 'CAA', host: '.', ttl: 0, flags: 0, tag: text, value: text }),
  summarizeDnsCheck: (text) => main.summarizeDnsCheck([result(text), result(`${text}a`)]),
  'summarizeDnsCheck, members': (text) => main.summarizeDnsCheck(JSON.parse(text) as DnsCheckResult[]),
  ...Object.fromEntries(
    recordTypes.map((recordType) => [
      `summarizeDnsCheck, an expected ${recordType}`,
      (text: string) =>
        main.summarizeDnsCheck([], {
          recordType,
          expected: [recordType === 'CAA' ? `0 issue ${text}` : text],
        }),
    ]),
  ),
  UtilityApiError: (text) => new main.UtilityApiError('invalid_request', text),
  createDnsClient: (text) =>
    dns.createDnsClient().query({ name: text, type: 'A', server: { ip: text }, timeoutMs: 1 }),
  createDohClient: (text) =>
    dns
      .createDohClient({ fetch: () => Promise.reject(new Error(text)) })
      .query({ name: text, type: 'A', server: { ip: '192.0.2.1', doh: text } }),
  encodeQuery: (text) => dns.encodeQuery(text, 'A'),
  readAnswer: (text) => dns.readAnswer(Buffer.from(text), dns.encodeQuery('a.example', 'A'), 'tcp', 0),
  findAuthoritativeServers: (text) =>
    dns.findAuthoritativeServers(nobody, text, { resolvers: [{ ip: '192.0.2.1' }] }),
  createBlockgameClient: (text) =>
    blockgame
      .createBlockgameClient({ resolvers: [{ ip: text }] })
      .status({ host: `${text}..`, timeoutMs: 1 }),
  encodeLegacyPingHost: (text) => blockgame.encodeLegacyPingHost(text, 1),
  encodePing: (text) => blockgame.encodePing(BigInt(text.length)),
  encodeStatusRequest: (text) => blockgame.encodeStatusRequest({ host: text, port: 1, protocolVersion: -1 }),
  legacyReplySize: (text) => blockgame.legacyReplySize(legacyReply(text)),
  parseLegacyReply: (text) => blockgame.parseLegacyReply(legacyReply(text)),
  'parseLegacyReply, from 1.4': (text) => blockgame.parseLegacyReply(legacyReply(`§1\0${text}`)),
  PacketReader: (text) => new blockgame.PacketReader().add(packet(text)),
  parseStatus: (text) => blockgame.parseStatus(text),
  ...Object.fromEntries(
    (
      [
        ['description', 'text'],
        ['description', 'translate'],
        ['version', 'name'],
        ['forgeData', 'd'],
      ] as const
    ).map(([name, member]) => [
      `parseStatus, ${name}.${member}`,
      (text: string) => blockgame.parseStatus(JSON.stringify({ [name]: { [member]: text, with: [text] } })),
    ]),
  ),
  'parseStatus, a description': (text) => blockgame.parseStatus(JSON.stringify({ description: text })),
  readStatusText: (text) => blockgame.readStatusText({ id: 0, payload: packet(text) }),
  readVarInt: (text) => blockgame.readVarInt(Buffer.from(text), 0),
  varIntSize: (text) => blockgame.varIntSize(text.length),
  writeVarInt: (text) => blockgame.writeVarInt(Buffer.alloc(5), 0, text.length),
  ServerCheckError: (text) => new blockgame.ServerCheckError('protocol', { cause: text }),
  callWithin: (text) => storageEntry.callWithin(text.length),
  comparedDomain: (text) => storageEntry.comparedDomain(text),
  'comparedDomain, a wildcard': (text) => storageEntry.comparedDomain(`*.${text}`),
  StorageError: (text) => new storageEntry.StorageError('unavailable', text),
  withCheckedRows: (text) =>
    storageEntry.withCheckedRows(memoryStorage()).findClient(text, storageEntry.callWithin(1000)),

  'a request to any path': (text) => send(`GET /${text}`, {}),
  'a request to a whole URL': (text) => send(`GET http://${text}/v4/oauth2/token`, {}),
  'a request with an id': (text) => send('GET /v4/oauth2/token', { 'X-Request-Id': text }),
  'a token request in JSON': (text) => send('POST /v4/oauth2/token', json, text),
  'a token request in a form': (text) => send('POST /v4/oauth2/token', form, text),
  'a token request with long members': (text) =>
    send('POST /v4/oauth2/token', json, JSON.stringify({ grant_type: text, code: text, client_id: text })),
  'a token request of a client': (text) => {
    const code = { grant_type: 'authorization_code', code: text, redirect_uri: text, code_verifier: text }
    return send(
      'POST /v4/oauth2/token',
      json,
      JSON.stringify({ ...code, clientId, client_secret: clientSecret }),
    )
  },
  'a token request by Basic': (text) =>
    send('POST /v4/oauth2/token', { ...form, Authorization: text }, 'a=b'),
  'a token request in any type': (text) => send('POST /v4/oauth2/token', { 'Content-Type': text }, '{}'),
  'a license generated by any bearer': (text) =>
    send('POST /v2/reseller/licenses/generate', { ...license, Authorization: text }),
  ...Object.fromEntries(
    ['X-Registered-To', 'X-Domain-Or-IP', 'X-Status', 'Idempotency-Key'].map((name) => [
      `a license generated with ${name}`,
      (text: string) => send('POST /v2/reseller/licenses/generate', { ...license, [name]: text }),
    ]),
  ),
  'a license updated by any key': (text) => send(`PUT /v2/reseller/${text}/update`, license),
  'a DNS check of any domain': (text) =>
    send('GET /v3/tools/dnscheck', {
      Authorization: `Bearer ${accessToken}`,
      'X-Domain': `${text}..`,
      'X-Record-Type': text,
    }),
  'a lookup by any key': (text) => send('GET /v4/games/blockgame/lookup', { Basic: text }),
  'a lookup of any address': (text) =>
    send('GET /v4/games/blockgame/lookup', { Basic: apiKey, 'X-Address': `${text}..`, 'X-Port': text }),
  'an authorization request': (text) =>
    admin.readAuthorizationRequest(
      new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: text, scope: text }),
      { scopes: ['a'] },
    ),
  // As long as a request line may be: of more members, the garbage that Node's own parser makes is what costs.
  'an authorization request of any query': (text) =>
    admin.readAuthorizationRequest(new URLSearchParams(text.slice(0, 16_384)), { scopes: ['a'] }),
  'a list of licenses': (text) => admin.listLicenses({ domainOrIp: text, limit: 1 }),
  'an access token verified': (text) => api.verifyAccessToken(text),

  contentOfRecord: (text) => contentOfRecord({ type: 'MX', host: 'a', ttl: 1, pri: 1, target: text }),
  parseHostName: (text) => parseHostName(text),
  parseDnsName: (text) => parseDnsName(text),
  parseServerAddress: (text) => parseServerAddress(text, text),
  spelledHostOf: (text) => spelledHostOf(text),
  searchedForms: (text) => searchedForms(text),
  parseIpAddress: (text) => parseIpAddress(text),
  isDnsServerAddress: (text) => isDnsServerAddress(text),
  parseNetwork: (text) => parseNetwork(text),
  parseLicenseKey: (text) => parseLicenseKey(`LIC-${text}`, 'LIC-'),
  problemOfDomainOrIp: (text) => problemOfDomainOrIp(text, { allowWildcards: true } as never),
  problemOfLicenseText: (text) => problemOfLicenseText(text),
  decodeHeaderText: (text) => decodeHeaderText(text),
  isPlainText: (text) => isPlainText(text),
  hasAtMostCodePoints: (text) => hasAtMostCodePoints(text, 100),
  isScope: (text) => isScope(text),
  isScopeName: (text) => isScopeName(text),
  permits: (text) => permits(text, 'a b'),
  isRedirectUri: (text) => isRedirectUri(text),
  'isRedirectUri, of a host': (text) => isRedirectUri(`https://${text}`),
  demandRedirectUris: (text) => demandRedirectUris([`https://${text}`]),
  isRegistered: (text) => isRegistered(text, { redirectUris: [text] } as never),
  hashSecret: (text) => hashSecret(text),
  isMistyped: (text) => isMistyped(`uapi_at_${text}`),
  kindOfSecret: (text) => kindOfSecret(text),
  matchesSecret: (text) => matchesSecret(text, []),
  'a body of JSON': (text) => bodyOf('application/json', text),
  'a body of JSON with repeated members': (text) =>
    bodyOf('application/json', `{"a":1,"a":${JSON.stringify(text)}}`),
  'a body of a form': (text) => bodyOf('application/x-www-form-urlencoded', text),
  'a body with a charset': (text) => bodyOf(`application/json; charset=${text}`, '{}'),
  forwardedAddress: (text) => forwardedAddress('192.0.2.1', 1, () => text),
  addressIn: (text) => addressIn(text),
  isLikeConnection: (text) => isLikeConnection(text),
  redactorOf: (text) => redactorOf('postgres://user:secret@host/name')(text),
  withoutPasswords: (text) => withoutPasswords(text),
  printable: (text) => printable(text),
  widthOf: (text) => widthOf(text),
  cut: (text) => cut(text, 80),
  wrap: (text) => wrap(text, 80),
}
