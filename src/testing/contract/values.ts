import { deepStrictEqual, notDeepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import {
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeLicense,
  makeToken,
  race,
  type ContractCase,
} from './context.ts'

/** Text that has been lost, changed or taken for something else somewhere before. */
const texts: readonly string[] = [
  'Łukasz Żółć',
  'Università \u00e0 la carte',
  'e\u0301 is not \u00e9',
  '\u{1F600}\u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{20BB7}',
  '\u{10FFFF}\uFFFD\uFEFF',
  '\u05E9\u05DC\u05D5\u05DD \u0645\u0631\u062D\u0628\u0627',
  `O'Brien "Bob"; DROP TABLE licenses; --`,
  '\\ % _ $1 ? :a @b {} [] \\u0000',
  '007',
  '1e3',
  '9007199254740993',
  'null',
  'true',
  '',
  '\u{1F600}'.repeat(255),
]

/** Pairs that a collation would take for one. */
const lookalikes: readonly string[] = [
  'LIC-a',
  'LIC-A',
  'LIC-\u00e4',
  'LIC-a\u0308',
  'LIC-a ',
  'LIC-\u00df',
  'LIC-ss',
  'LIC-',
]

export const valueCases: readonly ContractCase[] = [
  {
    name: 'all of Unicode comes back unchanged, or customers find their names mangled',
    needs: ['seed'],
    async run({ storage, seed }) {
      const licenses = texts.map((text, index) =>
        makeLicense(`key-${index}`, { registeredTo: text, domainOrIp: text, status: text }),
      )
      await inTurn(licenses, (license) => storage.insertLicense(license))
      deepStrictEqual(await race(texts.length, (index) => seed.getLicense(`key-${index}`)), licenses)
      await inTurn(licenses, ({ licenseKey, domainOrIp }) => {
        const patch = { registeredTo: `${domainOrIp}!` }
        return storage.updateLicense({ licenseKey, resellerId: 'reseller', patch, at: 1000 })
      })
      const found = await race(
        texts.length,
        async (index) => (await seed.getLicense(`key-${index}`))?.registeredTo,
      )
      deepStrictEqual(
        found,
        texts.map((text) => `${text}!`),
      )
    },
  },
  {
    name: 'all of Unicode comes back in a replay and in access rows too, or half of the service mangles names',
    needs: ['seed'],
    async run({ storage, seed }) {
      await inTurn(texts.entries(), async ([index, text]) => {
        const license = makeLicense(`key-${index}`, { registeredTo: text })
        const key = { resellerId: text, keyHash: hashOf(index), requestHash: hashOf(2), expiresAt: 9000 }
        await storage.insertLicense(license, key)
        const again = await storage.insertLicense(license, key)
        deepStrictEqual(typeof again === 'string' ? again : again.replay, license)
        const code = makeCode({ redirectUri: text, scope: text, codeChallenge: text })
        await seed.insertAuthorizationCode(hashOf(index), code)
        deepStrictEqual(await storage.findAuthorizationCode(hashOf(index)), code)
        const credential = makeCredential(`id-${text}`, { ownerId: text, scope: text, name: text })
        await seed.insertCredential('api_key', hashOf(index), credential)
        deepStrictEqual(await storage.findCredential('api_key', hashOf(index)), credential)
        await seed.insertClient(makeClient({ clientId: text, redirectUris: [text, text], name: text }))
        deepStrictEqual((await storage.findClient(text))?.redirectUris, [text, text])
      })
    },
  },
  {
    name: 'keys and identifiers are compared byte for byte, or one customer reaches the licence of another',
    needs: ['seed'],
    async run({ storage, seed }) {
      await inTurn(lookalikes, async (text) => {
        strictEqual(await storage.insertLicense(makeLicense(text, { resellerId: text })), 'inserted')
        strictEqual(await seed.insertClient(makeClient({ clientId: text, name: text })), 'inserted')
      })
      await inTurn(lookalikes, async (text) => {
        strictEqual((await seed.getLicense(text))?.resellerId, text)
        strictEqual((await storage.findClient(text))?.name, text)
      })
    },
  },
  {
    name: 'times keep every millisecond, from 0 to the last safe integer, or expiries move',
    needs: ['seed'],
    async run({ storage, seed }) {
      const times = [0, 1, 2 ** 31, 2 ** 32 + 1, 1_800_000_000_123, Number.MAX_SAFE_INTEGER]
      await inTurn(times.entries(), async ([index, time]) => {
        const license = makeLicense(`key-${index}`, { createdAt: time, updatedAt: time })
        await storage.insertLicense(license)
        deepStrictEqual(await seed.getLicense(`key-${index}`), license)
        const code = makeCode({ expiresAt: time, redeemedAt: time })
        await seed.insertAuthorizationCode(hashOf(index), code)
        deepStrictEqual(await storage.findAuthorizationCode(hashOf(index)), code)
      })
    },
  },
  {
    name: 'times of changes keep every millisecond too, or nobody can tell when something was spent or revoked',
    needs: ['admin'],
    async run({ admin }) {
      const at = 8_000_000_000_000_001
      await admin.insertAuthorizationCode(hashOf(1), makeCode())
      strictEqual(await admin.redeemAuthorizationCode(hashOf(1), at, makeToken(2)), true)
      deepStrictEqual(await admin.findAuthorizationCode(hashOf(1)), makeCode({ redeemedAt: at }))
      strictEqual(await admin.revokeAccessTokensOfCode(hashOf(1), at), 1)
      strictEqual((await admin.findCredential('access_token', hashOf(2)))?.revokedAt, at)
      await admin.insertCredential('api_key', hashOf(3), makeCredential('key'))
      strictEqual(await admin.revokeCredential({ id: 'key' }, at), true)
      strictEqual((await admin.findCredential('api_key', hashOf(3)))?.revokedAt, at)
      await admin.insertClient(makeClient())
      strictEqual(await admin.revokeClient('client', at), true)
      strictEqual((await admin.findClient('client'))?.revokedAt, at)
      await admin.insertLicense(makeLicense('key'))
      await admin.updateLicense({ licenseKey: 'key', resellerId: 'reseller', patch: { status: 'new' }, at })
      strictEqual((await admin.getLicense('key'))?.updatedAt, at)
    },
  },
  {
    name: 'identifiers with separators in them stay apart, or one reseller is shown the licences of another',
    needs: ['admin'],
    async run({ admin }) {
      const resellers = ['a', 'a:', 'a:b', 'a/b', 'a;b', 'a|b', 'a%3Ab', 'a%', 'a_', 'a!', 'a.b', ':a']
      await inTurn(resellers, (resellerId) =>
        admin.insertLicense(makeLicense(`b:${resellerId}`, { resellerId }), {
          resellerId,
          keyHash: hashOf(1),
          requestHash: hashOf(2),
          expiresAt: 100_000,
        }),
      )
      await inTurn(resellers, async (resellerId) => {
        const { licenses } = await admin.listLicenses({ resellerId, limit: 20 })
        deepStrictEqual(licenses, [makeLicense(`b:${resellerId}`, { resellerId })])
        deepStrictEqual(await admin.getLicense(`b:${resellerId}`), licenses[0])
      })
    },
  },
  {
    name: 'what a store hands out is a copy, or a change in one request shows up in another',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertClient(makeClient())
      await seed.insertAuthorizationCode(hashOf(1), makeCode())
      await seed.insertCredential('api_key', hashOf(1), makeCredential('key'))
      await storage.insertLicense(makeLicense('key'))
      const client = await storage.findClient('client')
      ok(client)
      client.secretHashes[0]?.fill(9)
      Object.assign(client.redirectUris, ['evil:/'])
      Object.assign((await storage.findAuthorizationCode(hashOf(1))) ?? {}, { clientId: 'evil' })
      Object.assign((await storage.findCredential('api_key', hashOf(1))) ?? {}, { scope: '*' })
      Object.assign((await seed.getLicense('key')) ?? {}, { status: 'evil' })
      const again = await storage.findClient('client')
      deepStrictEqual(Uint8Array.from(again?.secretHashes[0] ?? []), hashOf(1))
      deepStrictEqual(again?.redirectUris, makeClient().redirectUris)
      deepStrictEqual(await storage.findAuthorizationCode(hashOf(1)), makeCode())
      deepStrictEqual(await storage.findCredential('api_key', hashOf(1)), makeCredential('key'))
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key'))
    },
  },
  {
    name: 'what a store was handed is copied, or a buffer that is used again changes a stored secret',
    needs: ['seed'],
    async run({ storage, seed }) {
      const secret = hashOf(1)
      const uris = ['https://app.example/callback']
      await seed.insertClient(makeClient({ secretHashes: [secret], redirectUris: uris }))
      const license = { ...makeLicense('key') }
      const key = { resellerId: 'reseller', keyHash: hashOf(1), requestHash: hashOf(2), expiresAt: 9000 }
      await storage.insertLicense(license, key)
      secret.fill(9)
      uris[0] = 'evil:/'
      key.requestHash.fill(9)
      license.status = 'evil'
      const client = await storage.findClient('client')
      deepStrictEqual(client?.redirectUris, makeClient().redirectUris)
      notDeepStrictEqual(Uint8Array.from(client?.secretHashes[0] ?? []), secret)
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key'))
      const replay = await storage.insertLicense(makeLicense('other'), key)
      ok(typeof replay === 'object')
      deepStrictEqual(replay.replay, makeLicense('key'))
      deepStrictEqual(Uint8Array.from(replay.requestHash), hashOf(2))
    },
  },
  {
    name: 'a name that was not given stays absent, or a label nobody set turns up in lists',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertClient(makeClient())
      await seed.insertCredential('api_key', hashOf(1), makeCredential('key'))
      const client = await storage.findClient('client')
      const credential = await storage.findCredential('api_key', hashOf(1))
      ok(client && !('name' in client))
      ok(credential && !('name' in credential))
    },
  },
  {
    name: 'five hundred calls at once are all answered, or a rush hour locks the service up',
    needs: ['seed'],
    async run({ storage, seed }) {
      const outcomes = await race(500, async (index) => {
        const key = `key-${index % 250}`
        if (index < 250) return storage.insertLicense(makeLicense(key))
        const [credential, license] = await Promise.all([
          storage.findCredential('api_key', hashOf(index)),
          seed.getLicense(`${key}-unknown`),
        ])
        return credential ?? license ?? 'unknown'
      })
      deepStrictEqual(
        outcomes,
        outcomes.map((_, index) => (index < 250 ? 'inserted' : 'unknown')),
      )
    },
  },
]
