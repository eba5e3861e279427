import { isIP } from 'node:net'
import { defaultResolverLocations } from 'utility-api'
import { expect, test } from 'vitest'

test('the default locations are addresses of twelve resolvers, each with a place and a provider', () => {
  expect(new Set(defaultResolverLocations.map(({ ip }) => ip)).size).toBe(12)
  for (const { ip, location, provider } of defaultResolverLocations)
    expect([isIP(ip), location !== '', provider !== '']).toEqual([4, true, true])
})
