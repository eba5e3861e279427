import { createPublicKey } from 'node:crypto'
import { jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { issuer, newKey, signingWorld, startTime } from './support/signing-world.ts'
import { mutantsOf } from './support/statement-mutants.ts'

const amount = Number(process.env['LICENSE_MUTANTS'] ?? 2000)

test('an altered statement is never accepted', { timeout: 900_000 }, async () => {
  const signingKey = newKey()
  const { api, license } = signingWorld({ issuer, signingKey })
  const key = await license('Ada Lovelace', 'shop.example')
  const other = await license('Grace Hopper', 'other.example', 'invalid')
  const statement = await api.signLicense(key, { lifetimeSeconds: 60 })
  const others = [await api.signLicense(other, { lifetimeSeconds: 60 })]
  // The key itself and no options but the time, so that nothing but the signature stands in the way.
  const publicKey = createPublicKey(signingKey)
  const accepts = (text: string): Promise<boolean> =>
    jwtVerify(text, publicKey, { currentDate: new Date(startTime) }).then(
      () => true,
      () => false,
    )
  expect(await Promise.all([statement, ...others].map(accepts))).toEqual([true, true])

  const mutants = mutantsOf(statement, others)
  const accepted: string[] = []
  const distinct = new Set<string>()
  for (let count = 0; count < amount; count += 1) {
    const mutant = mutants.next()
    if (distinct.size < 1000) distinct.add(mutant)
    if (await accepts(mutant)) accepted.push(mutant)
  }
  expect(accepted).toEqual([])
  expect(distinct.size).toBeGreaterThan(Math.min(amount, 1000) / 2)
})
