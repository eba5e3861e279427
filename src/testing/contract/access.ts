import { ok, strictEqual } from 'node:assert/strict'
import type { AuthorizationCode } from '../../domain/credentials.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import type { AccessReference } from '../../ports/storage.ts'
import type { BoundAdmin, BoundStorage } from './bound.ts'
import {
  countOf,
  equalValues,
  fill,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeReseller,
  makeToken,
  nameOf,
  race,
  raceBeside,
  rejectsAs,
  type ContractCase,
} from './context.ts'

const codeOf = (number: number): Uint8Array => hashOf(1000 + number)

/** Lets racing callers spend codes of a client and a subject while their access is revoked. */
async function raceRevocation(
  which: AccessReference,
  revoker: BoundAdmin,
  spenders: readonly BoundStorage[],
): Promise<void> {
  const subject = nameOf('Ada')
  await inTurn([15, 'while it runs'] as const, async (place) => {
    const numberOf = (index: number): number => (place === 15 ? 0 : 200) + index
    const codeAt = (index: number): Uint8Array => codeOf(numberOf(index))
    await race(30, (index) => revoker.insertAuthorizationCode(codeAt(index), makeCode({ subject })))
    let counts = { tokens: 0, codes: 0 }
    const revoke = async (): Promise<unknown> => (counts = await revoker.revokeAccess(which, 9))
    const won = await raceBeside(revoke, place, 30, (index) => {
      const spender = spenders[index % spenders.length] as BoundStorage
      return spender.redeemAuthorizationCode(codeAt(index), 5, makeToken(numberOf(index), { subject }))
    })
    const tokens = await race(30, (index) => revoker.findCredential('access_token', hashOf(numberOf(index))))
    const live = tokens.filter((token) => token?.revokedAt === null)
    equalValues(live, [], 'no token is left')
    strictEqual(countOf(won, true), counts.tokens, 'every issued token is counted')
    strictEqual(30 - counts.tokens, counts.codes, 'every other code is counted')
    const late = await race(30, (index) =>
      revoker.redeemAuthorizationCode(codeAt(index), 10, makeToken(numberOf(100 + index))),
    )
    strictEqual(countOf(late, true), 0, 'no code can be redeemed afterwards')
  })
}

/** Issues a code, which is refused as a conflict once its client is revoked. */
async function issue(storage: BoundAdmin, hash: Uint8Array, code: AuthorizationCode): Promise<void> {
  try {
    await storage.insertAuthorizationCode(hash, code)
  } catch (error) {
    await rejectsAs('conflict', () => Promise.reject(error), 'late code')
  }
}

/**
 * Issues and spends codes while their client is revoked. Where one lock orders the calls, a method that does not wait for
 * it is finished before those in the middle have their turn, so a second round starts with the revocation.
 */
async function raceShutOut(revoker: BoundAdmin, others: readonly BoundAdmin[]): Promise<void> {
  await inTurn(([20, 0, 'while it runs'] as const).entries(), async ([round, place]) => {
    const clientId = nameOf(`client-${round}`)
    // Each round has its own codes and tokens.
    const numberOf = (index: number): number => 500 * round + index
    const hashOfCode = (index: number): Uint8Array => codeOf(numberOf(index))
    await revoker.insertClient(makeClient({ clientId }))
    await race(20, (index) => revoker.insertAuthorizationCode(hashOfCode(index), makeCode({ clientId })))
    const revoke = (): unknown => revoker.revokeClient(clientId, 9)
    await raceBeside<unknown>(revoke, place, 40, (index) => {
      const other = others[index % others.length] as BoundAdmin
      if (index % 2 === 1) return issue(other, hashOfCode(100 + index), makeCode({ clientId }))
      return other.redeemAuthorizationCode(hashOfCode(index >> 1), 5, makeToken(numberOf(index)))
    })
    const late = await race(141, (index) =>
      revoker.redeemAuthorizationCode(hashOfCode(index), 10, makeToken(numberOf(100 + index))),
    )
    strictEqual(countOf(late, true), 0, 'no code of a revoked client can be redeemed')
  })
}

/** Revokes five hundred and one codes and as many tokens. */
async function revokeMany(admin: BoundAdmin, which: AccessReference): Promise<void> {
  const [ownerId, subject] = [nameOf('client'), nameOf('Ada')]
  await fill(1002, (index) => {
    if (index % 2 === 0) return admin.insertAuthorizationCode(codeOf(index), makeCode({ subject }))
    return admin.insertCredential(
      'access_token',
      hashOf(index),
      makeCredential(nameOf(`${index}`), { ownerId, subject }),
    )
  })
  equalValues(await admin.revokeAccess(which, 9), { tokens: 501, codes: 501 })
  equalValues(await admin.revokeAccess(which, 10), { tokens: 0, codes: 0 })
}

/** Stores a token of the reseller. Its id comes after all others so far or, every second time, before them. */
function insertToken(store: BoundAdmin, number: number): MaybePromise<unknown> {
  const token = makeCredential(nameOf(`${number % 2 === 0 ? 8999 - number : 9000 + number}`))
  return store.insertCredential('reseller_token', hashOf(number), token)
}

/** Stores tokens, one after the other, while five hundred and one others are revoked. */
async function raceTokens(admin: BoundAdmin, other: BoundAdmin): Promise<void> {
  await admin.insertReseller(makeReseller())
  await fill(501, (number) => insertToken(admin, number))
  const late = Array.from({ length: 40 }, (_, index) => 501 + index)
  const [{ tokens }] = await Promise.all([
    admin.revokeAccess({ resellerId: nameOf('reseller') }, 9),
    inTurn(late, (number) => insertToken(other, number)),
  ])
  const times = await race(
    541,
    async (number) => (await admin.findCredential('reseller_token', hashOf(number)))?.revokedAt,
  )
  strictEqual(countOf(times, 9), tokens, 'every revoked token is counted')
  strictEqual(times.lastIndexOf(9) + 1, tokens, 'no token is left that was stored before a revoked one')
  ok(tokens >= 501, 'no token is left that was there')
}

export const accessCases: readonly ContractCase[] = [
  {
    name: "a token keeps the subject of its code, or one user's access cannot be revoked",
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertAuthorizationCode(codeOf(1), makeCode({ subject: 'Ada' }))
      strictEqual((await storage.findAuthorizationCode(codeOf(1)))?.subject, 'Ada')
      await storage.redeemAuthorizationCode(codeOf(1), 5, makeToken(1, { subject: 'Ada', createdAt: 7 }))
      const { hash: _, ...token } = makeToken(1, { subject: 'Ada', createdAt: 7 })
      equalValues(await storage.findCredential('access_token', hashOf(1)), { ...token, revokedAt: null })
    },
  },
  {
    name: 'a revoked client has no unspent code and keeps its tokens, or a stolen code can still be redeemed',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      await race(3, (index) =>
        admin.insertAuthorizationCode(
          codeOf(index),
          makeCode(index === 2 ? { clientId: nameOf('other') } : {}),
        ),
      )
      await admin.redeemAuthorizationCode(codeOf(0), 5, makeToken(0))
      strictEqual(await admin.revokeClient(nameOf('client'), 9), true)
      strictEqual(await admin.redeemAuthorizationCode(codeOf(1), 10, makeToken(1)), false)
      strictEqual(await admin.redeemAuthorizationCode(codeOf(2), 10, makeToken(2)), true)
      strictEqual((await admin.findCredential('access_token', hashOf(0)))?.revokedAt, null)
      strictEqual((await admin.findAuthorizationCode(codeOf(0)))?.redeemedAt, 5)
    },
  },
  {
    name: 'revoking a client that is revoked or unknown ends its codes too, or one of them can still be redeemed',
    needs: ['admin'],
    async run({ admin }) {
      await race(2, (index) =>
        admin.insertAuthorizationCode(codeOf(index), makeCode({ clientId: nameOf(`${index}`) })),
      )
      await admin.insertClient(makeClient({ clientId: nameOf('0'), revokedAt: 7 }))
      const revoked = await race(2, (index) => admin.revokeClient(nameOf(`${index}`), 9))
      equalValues(revoked, [false, false])
      const late = await race(2, (index) =>
        admin.redeemAuthorizationCode(codeOf(index), 10, makeToken(index)),
      )
      equalValues(late, [false, false])
    },
  },
  {
    name: 'a revoked client with five hundred and one codes has none left, or those after a limit can still be redeemed',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      await fill(501, (index) => admin.insertAuthorizationCode(codeOf(index), makeCode()))
      strictEqual(await admin.revokeClient(nameOf('client'), 9), true)
      const late = await race(501, (index) =>
        admin.redeemAuthorizationCode(codeOf(index), 10, makeToken(index)),
      )
      strictEqual(countOf(late, true), 0)
    },
  },
  {
    name: 'issuing a code for a revoked client is a conflict, or an authorization page undoes the revocation',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ revokedAt: 7 }))
      await rejectsAs('conflict', () => admin.insertAuthorizationCode(codeOf(1), makeCode()), 'late code')
      strictEqual(await admin.redeemAuthorizationCode(codeOf(1), 10, makeToken(1)), false)
    },
  },
  {
    name: 'a client revoked while its codes are issued and spent has no unspent code, or one can still be redeemed',
    needs: ['admin'],
    run: ({ admin }) => raceShutOut(admin, [admin]),
  },
  {
    name: 'a client revoked through one instance has no unspent code in another, or a code can still be redeemed there',
    needs: ['admin', 'secondAdmin'],
    run: ({ admin, secondAdmin }) => raceShutOut(admin, [secondAdmin, admin]),
  },
  {
    name: 'a client revoked through one instance is issued no code by another, or it goes on as if nothing had happened',
    needs: ['admin', 'secondAdmin'],
    async run({ admin, secondAdmin }) {
      await admin.insertClient(makeClient())
      await secondAdmin.insertAuthorizationCode(codeOf(1), makeCode())
      await admin.revokeClient(nameOf('client'), 9)
      await rejectsAs(
        'conflict',
        () => secondAdmin.insertAuthorizationCode(codeOf(2), makeCode()),
        'late code',
      )
    },
  },
  {
    name: "revoking a client's access ends its tokens and codes and no others, or the wrong customers are logged out",
    needs: ['admin'],
    async run({ admin }) {
      const clientId = nameOf('other')
      await race(6, (index) =>
        admin.insertAuthorizationCode(codeOf(index), makeCode(index < 4 ? {} : { clientId })),
      )
      await race(2, (index) => admin.redeemAuthorizationCode(codeOf(index), 5, makeToken(index)))
      await admin.redeemAuthorizationCode(codeOf(4), 5, makeToken(4, { ownerId: clientId }))
      await admin.revokeCredential({ hash: hashOf(1) }, 6)
      await admin.insertReseller(makeReseller({ resellerId: nameOf('client') }))
      const own = makeCredential(nameOf('own'), { ownerId: nameOf('client') })
      await admin.insertCredential('reseller_token', hashOf(9), own)
      equalValues(await admin.revokeAccess({ clientId: nameOf('client') }, 9), { tokens: 1, codes: 2 })
      equalValues(await admin.revokeAccess({ clientId: nameOf('client') }, 10), { tokens: 0, codes: 0 })
      const times = await race(
        5,
        async (index) => (await admin.findCredential('access_token', hashOf(index)))?.revokedAt,
      )
      equalValues(times, [9, 6, undefined, undefined, null])
      strictEqual((await admin.findCredential('reseller_token', hashOf(9)))?.revokedAt, null)
      strictEqual(await admin.redeemAuthorizationCode(codeOf(2), 10, makeToken(2)), false)
      strictEqual(await admin.redeemAuthorizationCode(codeOf(5), 10, makeToken(5)), true)
    },
  },
  {
    name: "revoking a subject's access ends its tokens and codes and no others, or a user who left keeps access",
    needs: ['admin'],
    async run({ admin }) {
      const subjects = [nameOf('Ada'), nameOf('ada'), null]
      await race(6, (index) =>
        admin.insertAuthorizationCode(codeOf(index), makeCode({ subject: subjects[index % 3] ?? null })),
      )
      await race(3, (index) =>
        admin.redeemAuthorizationCode(
          codeOf(index),
          5,
          makeToken(index, { subject: subjects[index] ?? null }),
        ),
      )
      const direct = makeCredential(nameOf('direct'), { subject: nameOf('Ada') })
      await admin.insertCredential('access_token', hashOf(9), direct)
      equalValues(await admin.revokeAccess({ subject: nameOf('Ada') }, 9), { tokens: 2, codes: 1 })
      const times = await race(
        3,
        async (index) => (await admin.findCredential('access_token', hashOf(index)))?.revokedAt,
      )
      equalValues(times, [9, null, null])
      strictEqual((await admin.findCredential('access_token', hashOf(9)))?.revokedAt, 9)
      const late = await race(3, (index) =>
        admin.redeemAuthorizationCode(codeOf(3 + index), 10, makeToken(3 + index)),
      )
      equalValues(late, [false, true, true])
    },
  },
  {
    name: "revoking a reseller's access ends its tokens and no others, or a leaked one goes on creating licenses",
    needs: ['admin'],
    async run({ admin }) {
      const [own, other] = [nameOf('reseller'), nameOf('other')]
      const rows = [
        ['reseller_token', {}],
        ['reseller_token', { expiresAt: 5 }],
        ['reseller_token', { revokedAt: 6 }],
        ['reseller_token', { ownerId: other, subject: own }],
        ['access_token', {}],
        ['api_key', {}],
      ] as const
      await inTurn([own, other], (resellerId) => admin.insertReseller(makeReseller({ resellerId })))
      await admin.insertAuthorizationCode(codeOf(1), makeCode({ clientId: own, subject: own }))
      await inTurn(rows.entries(), ([index, [kind, fields]]) =>
        admin.insertCredential(kind, hashOf(index), makeCredential(nameOf(`${index}`), fields)),
      )
      equalValues(await admin.revokeAccess({ resellerId: own }, 9), { tokens: 2, codes: 0 })
      equalValues(await admin.revokeAccess({ resellerId: own }, 10), { tokens: 0, codes: 0 })
      const found = rows.map(async ([kind], index) => admin.findCredential(kind, hashOf(index)))
      const times = (await Promise.all(found)).map((row) => row?.revokedAt)
      equalValues(times, [9, 9, 6, null, null, null])
      strictEqual(await admin.redeemAuthorizationCode(codeOf(1), 10, makeToken(9)), true)
    },
  },
  {
    name: "revoking a reseller's access while it gets tokens leaves none that is older, or the leaked one goes on",
    needs: ['admin'],
    run: ({ admin }) => raceTokens(admin, admin),
  },
  {
    name: "revoking a reseller's access over two instances leaves no older token, or the leaked one goes on",
    needs: ['admin', 'secondAdmin'],
    run: ({ admin, secondAdmin }) => raceTokens(admin, secondAdmin),
  },
  {
    name: 'revoking access ends five hundred and one tokens and codes, or the users of a large client stay logged in',
    needs: ['admin'],
    run: ({ admin }) => revokeMany(admin, { clientId: nameOf('client') }),
  },
  {
    name: "revoking a subject's access ends five hundred and one tokens and codes, or one device stays logged in",
    needs: ['admin'],
    run: ({ admin }) => revokeMany(admin, { subject: nameOf('Ada') }),
  },
  {
    name: 'revoking access ends and counts expired codes and tokens too, or a service with a slow clock accepts them',
    needs: ['admin'],
    async run({ admin }) {
      const own = { subject: nameOf('Ada'), expiresAt: 5 }
      await race(2, (index) =>
        admin.insertAuthorizationCode(codeOf(index), makeCode({ clientId: nameOf(`${index}`), ...own })),
      )
      await race(2, (index) => {
        const token = makeCredential(nameOf(`token-${index}`), { ownerId: nameOf(`${index}`), ...own })
        return admin.insertCredential('access_token', hashOf(index), token)
      })
      equalValues(await admin.revokeAccess({ clientId: nameOf('0') }, 9), { tokens: 1, codes: 1 })
      equalValues(await admin.revokeAccess({ subject: nameOf('Ada') }, 9), { tokens: 1, codes: 1 })
    },
  },
  {
    name: 'a replay finds nothing to revoke after all access was revoked, or a token is revoked twice',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertAuthorizationCode(codeOf(1), makeCode())
      await admin.redeemAuthorizationCode(codeOf(1), 5, makeToken(1))
      await admin.revokeAccess({ clientId: nameOf('client') }, 9)
      strictEqual(await admin.revokeAccessTokensOfCode(codeOf(1), 10), 0)
      ok((await admin.findAuthorizationCode(codeOf(1)))?.redeemedAt === 5, 'a spent code stays')
    },
  },
  {
    name: "revoking a client's access while its codes are spent leaves no token, or a thief keeps one",
    needs: ['admin'],
    run: ({ admin }) => raceRevocation({ clientId: nameOf('client') }, admin, [admin]),
  },
  {
    name: "revoking a subject's access while codes are spent leaves no token, or a thief keeps one",
    needs: ['admin'],
    run: ({ admin }) => raceRevocation({ subject: nameOf('Ada') }, admin, [admin]),
  },
  {
    name: "revoking a client's access over two instances leaves no token, or a thief keeps one of the other server",
    needs: ['admin', 'second'],
    run: ({ admin, second }) => raceRevocation({ clientId: nameOf('client') }, admin, [second, admin]),
  },
  {
    name: "revoking a subject's access over two instances leaves no token, or a thief keeps one of the other server",
    needs: ['admin', 'second'],
    run: ({ admin, second }) => raceRevocation({ subject: nameOf('Ada') }, admin, [second, admin]),
  },
]
