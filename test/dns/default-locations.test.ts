import { isIP } from 'node:net'
import { defaultResolverLocations } from 'utility-api'
import { expect, test } from 'vitest'

test('the default locations are addresses and URLs of twelve resolvers, each with a place and a provider', () => {
  expect(new Set(defaultResolverLocations.map(({ ip }) => ip)).size).toBe(12)
  expect(new Set(defaultResolverLocations.map(({ doh }) => doh && new URL(doh).hostname)).size).toBe(12)
  for (const { ip, location, provider, doh } of defaultResolverLocations)
    expect([isIP(ip), location !== '', provider !== '', doh?.startsWith('https://')]).toEqual([
      4,
      true,
      true,
      true,
    ])
})
