import { ok, strictEqual } from 'node:assert/strict'
import { credentialKinds } from '../../domain/credentials.ts'
import {
  equalValues,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeIdempotencyKey,
  makeLicense,
  makeReseller,
  makeToken,
  nameOf,
  race,
  type ContractCase,
} from './context.ts'

/** Texts that some software has lost, changed or mistaken for something else before. */
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

function textAfter(text: string): string {
  return texts[(texts.indexOf(text) + 1) % texts.length] ?? ''
}

/** The oddest and longest identifiers that visible ASCII allows. */
const identifiers: readonly string[] = [`O'Brien"--;/**/`, '\\%_$1?:a@b{}[]', '007', 'null', '~'.repeat(255)]

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

/** Pairs that a collation would treat as equal. */
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
    name: 'all of Unicode is read back unchanged, or customers find their names mangled',
    needs: ['seed'],
    async run({ storage, seed }) {
      const licenses = texts.map((text, index) =>
        makeLicense(nameOf(`key-${index}`), { registeredTo: text, domainOrIp: text, status: text }),
      )
      await inTurn(licenses, (license) => storage.insertLicense(license))
      equalValues(await race(texts.length, (index) => seed.findLicense(nameOf(`key-${index}`))), licenses)
      await inTurn(licenses, ({ licenseKey, domainOrIp }) => {
        const patch = { registeredTo: textAfter(domainOrIp) }
        return storage.updateLicense({ licenseKey, resellerId: nameOf('reseller'), patch, at: 1000 })
      })
      const found = await race(
        texts.length,
        async (index) => (await seed.findLicense(nameOf(`key-${index}`)))?.registeredTo,
      )
      equalValues(found, texts.map(textAfter))
    },
  },
  {
    name: 'all of Unicode is also read back unchanged in stored answers and names, or some fields mangle text',
    needs: ['seed'],
    async run({ storage, seed }) {
      await inTurn(texts.entries(), async ([index, text]) => {
        const credential = makeCredential(nameOf(`id-${index}`), { name: text })
        await seed.insertCredential('api_key', hashOf(index), credential)
        equalValues(await storage.findCredential('api_key', hashOf(index)), credential)
        await seed.insertClient(makeClient({ clientId: nameOf(`${index}`), name: text }))
        strictEqual((await storage.findClient(nameOf(`${index}`)))?.name, text)
      })
    },
  },
  {
    name: 'identifiers and scopes of every length are read back unchanged, or the longest ones never work',
    needs: ['seed'],
    async run({ storage, seed }) {
      await inTurn(identifiers.entries(), async ([index, id]) => {
        const scope = 's'.repeat(id.length === 255 ? 1024 : index)
        const redirectUri = `https://app.example/${'p'.repeat(id.length === 255 ? 2028 : index)}`
        const redirectUris = Array.from({ length: 10 }, () => redirectUri)
        await seed.insertClient(makeClient({ clientId: id, redirectUris }))
        equalValues((await storage.findClient(id))?.redirectUris, redirectUris)
        const codeChallenge = '-_'.repeat(21)
        const code = makeCode({ clientId: id, subject: id, redirectUri, scope, codeChallenge })
        await seed.insertAuthorizationCode(hashOf(index), code)
        equalValues(await storage.findAuthorizationCode(hashOf(index)), code)
        await seed.insertReseller(makeReseller({ resellerId: id }))
        const credential = makeCredential(id, { ownerId: id, subject: id, scope })
        strictEqual(await seed.insertCredential('reseller_token', hashOf(index), credential), 'inserted')
        equalValues(await storage.findCredential('reseller_token', hashOf(index)), credential)
        const { hash: tokenHash, ...token } = makeToken(100 + index, {
          id: `token-${id}`.slice(0, 255),
          ownerId: id,
          subject: id,
          scope,
        })
        strictEqual(
          await storage.redeemAuthorizationCode(hashOf(index), 5, { ...token, hash: tokenHash }),
          true,
        )
        equalValues(await storage.findCredential('access_token', tokenHash), {
          ...token,
          revokedAt: null,
        })
        const license = makeLicense(id.slice(0, 128), { resellerId: id })
        await storage.insertLicense(license)
        equalValues(await storage.findLicense(license.licenseKey), license)
      })
    },
  },
  {
    name: 'concurrent finds each get their own row, or a caller acts as another',
    needs: ['seed'],
    async run({ storage, seed }) {
      const ids = [...identifiers, ...lookalikes.filter(isAscii), 'a,b', 'a', 'b', '{a}', '"a"', 'NULL']
      const rows = ids.map((clientId, index) => ({
        client: makeClient({ clientId, redirectUris: [`app:${clientId}`] }),
        code: makeCode({ clientId }),
        hash: hashOf(index),
        // Two credentials of different kinds may have the same hash.
        credentials: credentialKinds.map((kind, position) =>
          position === index % 3 ? null : makeCredential(nameOf(`${kind}-${index}`), { name: clientId }),
        ),
      }))
      await seed.insertReseller(makeReseller())
      await inTurn(rows, async ({ client, code, hash, credentials }) => {
        await seed.insertClient(client)
        await seed.insertAuthorizationCode(hash, code)
        await inTurn(credentialKinds.entries(), async ([position, kind]) => {
          const credential = credentials[position] ?? null
          if (credential !== null) await seed.insertCredential(kind, hash, credential)
        })
      })
      const found = await Promise.all(
        rows.map(async ({ client: { clientId }, hash }, index) => {
          const [client, nobody, code, noCode, ...credentials] = await Promise.all([
            storage.findClient(clientId),
            storage.findClient(`${clientId.slice(0, 200)} of nobody`),
            storage.findAuthorizationCode(hash),
            storage.findAuthorizationCode(hashOf(1000 + index)),
            ...credentialKinds.map((kind) => storage.findCredential(kind, hash)),
          ])
          equalValues([nobody, noCode], [null, null])
          return { client, code, hash, credentials }
        }),
      )
      equalValues(found, rows)
    },
  },
  {
    name: 'keys and identifiers are compared byte for byte, or one customer reaches the license of another',
    needs: ['seed'],
    async run({ storage, seed }) {
      await inTurn(lookalikes, async (text) => {
        strictEqual(await storage.insertLicense(makeLicense(text, { registeredTo: text })), 'inserted')
        if (!isAscii(text)) return
        strictEqual(await seed.insertClient(makeClient({ clientId: text, name: text })), 'inserted')
        strictEqual(await seed.insertReseller(makeReseller({ resellerId: text })), 'inserted')
      })
      await inTurn(lookalikes, async (text) => {
        strictEqual((await seed.findLicense(text))?.registeredTo, text)
        if (isAscii(text)) strictEqual((await storage.findClient(text))?.name, text)
      })
    },
  },
  {
    name: 'names that every JavaScript object has are identifiers like others, or strangers exist and customers do not',
    needs: ['admin'],
    run: ({ admin }) =>
      inTurn(['__proto__', 'constructor', 'toString'].entries(), async ([index, id]) => {
        const token = makeCredential(id, { ownerId: id })
        const insertToken = (): unknown => admin.insertCredential('reseller_token', hashOf(index), token)
        const key = makeIdempotencyKey({ resellerId: id })
        equalValues([await admin.findClient(id), await admin.findLicense(id)], [null, null])
        strictEqual(await insertToken(), 'no_owner')
        strictEqual(await admin.insertClient(makeClient({ clientId: id })), 'inserted')
        strictEqual(await admin.insertReseller(makeReseller({ resellerId: id })), 'inserted')
        strictEqual(await admin.insertLicense(makeLicense(id), key), 'inserted')
        strictEqual(await insertToken(), 'inserted')
        strictEqual((await admin.findClient(id))?.clientId, id)
        equalValues(await admin.findLicense(id), makeLicense(id))
        strictEqual(await admin.revokeCredential({ id }, 5), true)
        strictEqual(await admin.deleteLicense(id), true)
      }),
  },
  {
    name: 'times keep every millisecond, from 0 to the largest safe integer, or expiries move',
    needs: ['seed'],
    async run({ storage, seed }) {
      const times = [0, 1, 2 ** 31, 2 ** 32 + 1, 1_800_000_000_123, Number.MAX_SAFE_INTEGER]
      await inTurn(times.entries(), async ([index, time]) => {
        const license = makeLicense(nameOf(`key-${index}`), { createdAt: time, updatedAt: time })
        await storage.insertLicense(license)
        equalValues(await seed.findLicense(nameOf(`key-${index}`)), license)
        const code = makeCode({ expiresAt: time, redeemedAt: time })
        await seed.insertAuthorizationCode(hashOf(index), code)
        equalValues(await storage.findAuthorizationCode(hashOf(index)), code)
      })
    },
  },
  {
    name: 'times of changes keep every millisecond too, or it is unknown when something was spent or revoked',
    needs: ['admin'],
    async run({ admin }) {
      const at = 8_000_000_000_000_001
      await admin.insertAuthorizationCode(hashOf(1), makeCode())
      strictEqual(await admin.redeemAuthorizationCode(hashOf(1), at, makeToken(2)), true)
      equalValues(await admin.findAuthorizationCode(hashOf(1)), makeCode({ redeemedAt: at }))
      strictEqual(await admin.revokeAccessTokensOfCode(hashOf(1), at), 1)
      strictEqual((await admin.findCredential('access_token', hashOf(2)))?.revokedAt, at)
      await admin.insertCredential('api_key', hashOf(3), makeCredential(nameOf('key')))
      strictEqual(await admin.revokeCredential({ id: nameOf('key') }, at), true)
      strictEqual((await admin.findCredential('api_key', hashOf(3)))?.revokedAt, at)
      await admin.insertClient(makeClient())
      strictEqual(await admin.revokeClient(nameOf('client'), at), true)
      strictEqual((await admin.findClient(nameOf('client')))?.revokedAt, at)
      await admin.insertLicense(makeLicense(nameOf('key')))
      await admin.updateLicense({
        licenseKey: nameOf('key'),
        resellerId: nameOf('reseller'),
        patch: { status: 'new' },
        at,
      })
      strictEqual((await admin.findLicense(nameOf('key')))?.updatedAt, at)
      await admin.insertCredential(
        'access_token',
        hashOf(4),
        makeCredential(nameOf('token'), { subject: 'Ada' }),
      )
      await admin.revokeAccess({ subject: 'Ada' }, at)
      strictEqual((await admin.findCredential('access_token', hashOf(4)))?.revokedAt, at)
      await admin.insertAuthorizationCode(hashOf(5), makeCode({ clientId: nameOf('other'), expiresAt: at }))
      await admin.purgeExpired(at - 1)
      ok(await admin.findAuthorizationCode(hashOf(5)), 'a code that expires one millisecond later')
      await admin.purgeExpired(at)
      strictEqual(await admin.findAuthorizationCode(hashOf(5)), null)
    },
  },
  {
    name: 'identifiers that contain separators stay distinct, or one reseller is shown the licenses of another',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const resellers = ['a', 'a:', 'a:b', 'a/b', 'a;b', 'a|b', 'a%3Ab', 'a%', 'a_', 'a!', 'a.b', ':a']
      await inTurn(resellers, (resellerId) =>
        admin.insertLicense(
          makeLicense(nameOf(`b:${resellerId}`), { resellerId }),
          makeIdempotencyKey({ resellerId }),
        ),
      )
      await inTurn(resellers, async (resellerId) => {
        const { licenses } = await listing.licenses({ resellerId, limit: 20 })
        equalValues(licenses, [makeLicense(nameOf(`b:${resellerId}`), { resellerId })])
        equalValues(await admin.findLicense(nameOf(`b:${resellerId}`)), licenses[0])
      })
    },
  },
  {
    name: 'every method changes the row with exactly that identifier, or it changes one that looks like it',
    needs: ['admin'],
    async run({ admin }) {
      const long = 'x'.repeat(250)
      const twins = ['a', 'A', 'a ', ' a', 'a:b', 'a#b', 'a|b', 'a/b', `${long}y`, `${long}z`]
      await inTurn(twins.entries(), async ([index, id]) => {
        await admin.insertClient(makeClient({ clientId: id }))
        await admin.insertAuthorizationCode(hashOf(100 + index), makeCode())
        await admin.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index, { id }))
        await admin.insertLicense(makeLicense(id.slice(-128)))
        strictEqual(await admin.insertReseller(makeReseller({ resellerId: id })), 'inserted')
        await admin.insertAuthorizationCode(hashOf(200 + index), makeCode({ clientId: id }))
        await admin.insertAuthorizationCode(hashOf(300 + index), makeCode({ subject: id }))
        const owned = makeCredential(nameOf(`owned-${index}`), { ownerId: id })
        await admin.insertCredential('access_token', hashOf(400 + index), owned)
        const granted = makeCredential(nameOf(`granted-${index}`), { subject: id })
        await admin.insertCredential('access_token', hashOf(500 + index), granted)
        const token = makeCredential(nameOf(`reseller-${index}`), { ownerId: id })
        strictEqual(await admin.insertCredential('reseller_token', hashOf(600 + index), token), 'inserted')
        const key = makeIdempotencyKey({ resellerId: id })
        const first = makeLicense(nameOf(`first-${index}`), { resellerId: id })
        strictEqual(await admin.insertLicense(first, key), 'inserted')
      })
      await inTurn(twins.entries(), async ([index, id]) => {
        const at = 2 ** 33 + index
        strictEqual((await admin.findCredential('access_token', hashOf(index)))?.id, id)
        strictEqual(await admin.revokeCredential({ id }, at), true)
        strictEqual((await admin.findCredential('access_token', hashOf(index)))?.revokedAt, at)
        const odd = `e\u0301\u{1F600} ${id}`
        strictEqual(await admin.changeLicense(id.slice(-128), { status: odd }, at), true)
        equalValues(
          await admin.findLicense(id.slice(-128)),
          makeLicense(id.slice(-128), { status: odd, updatedAt: at }),
        )
        strictEqual(await admin.deleteLicense(id.slice(-128)), true)
        const update = { licenseKey: nameOf(`first-${index}`), resellerId: id, patch: { status: id }, at }
        strictEqual(await admin.updateLicense(update), 'updated')
        const stranger = twins[(index + 2) % twins.length] ?? ''
        strictEqual(await admin.updateLicense({ ...update, resellerId: stranger }), 'not_owner')
        strictEqual(await admin.updateClient(id, { name: odd }), true)
        strictEqual((await admin.findClient(id))?.name, odd)
        strictEqual(await admin.rotateClientSecret(id, hashOf(700 + index)), true)
        equalValues(await admin.revokeAccess({ clientId: id }, at), { tokens: 1, codes: 1 })
        equalValues(await admin.revokeAccess({ subject: id }, at), { tokens: 1, codes: 1 })
        await admin.insertAuthorizationCode(hashOf(800 + index), makeCode({ clientId: id }))
        strictEqual(await admin.revokeClient(id, at), true)
        strictEqual(await admin.findAuthorizationCode(hashOf(800 + index)), null)
        const client = await admin.findClient(id)
        equalValues([client?.revokedAt, client?.secretHashes[0]], [at, hashOf(700 + index)])
      })
    },
  },
  {
    name: 'a name that was not given stays absent, or lists show a label that nobody set',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertClient(makeClient())
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      const client = await storage.findClient(nameOf('client'))
      const credential = await storage.findCredential('api_key', hashOf(1))
      ok(client && !('name' in client))
      ok(credential && !('name' in credential))
    },
  },
  {
    name: 'five hundred calls at once are all answered, or a busy moment locks up the service',
    needs: ['seed'],
    async run({ storage, seed }) {
      const outcomes = await race(500, async (index) => {
        const key = `key-${index % 250}`
        if (index < 250) return storage.insertLicense(makeLicense(key))
        const [credential, license] = await Promise.all([
          storage.findCredential('api_key', hashOf(index)),
          seed.findLicense(nameOf(`${key}-unknown`)),
        ])
        return credential ?? license ?? 'unknown'
      })
      equalValues(
        outcomes,
        outcomes.map((_, index) => (index < 250 ? 'inserted' : 'unknown')),
      )
    },
  },
]
