// Through Prism, all rows of the contract go as through every mount; here is what it finds where the document is wrong.
import { expect, test } from 'vitest'
import { hasPrism, startPrism } from './support/prism.ts'
import { createWorld, generateRequest } from './support/world.ts'

if (!hasPrism) console.log('Skipped: Prism is not installed; run `npm ci` in test/peers.')

test.skipIf(!hasPrism)('a proxy finds an answer that the document does not allow', async () => {
  const world = await createWorld('api.fetch')
  const generate = generateRequest(world.resellerToken)
  const text = JSON.stringify(world.api.openapi())
  const found = await Promise.all(
    [
      text,
      text.replaceAll('"license_key":{"type":"string"', '"license_key":{"type":"integer"'),
      text.replaceAll('"maxLength":255', '"maxLength":5'),
    ].map(async (document) => {
      const { send, close } = await startPrism(world.api, JSON.parse(document) as object)
      const outcome = await send(generate).catch((error: unknown) => (error as Error).message)
      await close()
      return outcome
    }),
  )
  await world.close()
  expect(found).toEqual([
    expect.objectContaining({ status: 200 }),
    expect.stringContaining('license_key must be integer'),
    expect.stringContaining('must NOT have more than 5 characters'),
  ])
})
