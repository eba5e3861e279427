import { expect, test } from 'vitest'
import { hasIpv6 } from '../support/loopback.ts'
import { hasOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'

test.runIf(hasOwnNetwork && hasIpv6)(
  'a server is found through NAT64 alone, and no private one',
  async () => {
    const printed = await runInOwnNetwork('test/blockgame/support/nat64-world.node.ts')
    expect(JSON.parse(printed)).toEqual(['64:ff9b::505:601', { online: 3, max: 20 }, 'blocked', 0])
  },
)
