import { generateKeyPairSync } from 'node:crypto'
import { createAdmin, createUtilityApi, type LicenseOptions, type UtilityApi } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock, type FixedClock } from 'utility-api/testing'

export const issuer = 'https://shop.example'
/** Not a whole second, as claims are. */
export const startTime: number = Date.UTC(2026, 0, 1, 12, 0, 0, 700)

export interface SigningWorld {
  readonly api: UtilityApi
  readonly storage: AdminStorage
  readonly clock: FixedClock
  /** Creates a license by the route of the resellers. */
  license(registeredTo: string, domainOrIp: string, status?: string): Promise<string>
}

/** Creates a service that signs, with a clock that stands still. */
export function signingWorld(
  licenses: LicenseOptions = { issuer, signingKey: newKey() },
  storage: AdminStorage = memoryStorage(),
): SigningWorld {
  const clock = fixedClock(startTime)
  const api = createUtilityApi({ storage, clock, licenses, dns: false, blockgame: false })
  const admin = createAdmin({ storage, clock, licenses })
  return {
    api,
    storage,
    clock,
    async license(registeredTo, domainOrIp, status = 'valid') {
      const { token } = await admin.createReseller()
      const headers = {
        Authorization: `Bearer ${token}`,
        'X-Registered-To': Buffer.from(registeredTo).toString('latin1'),
        'X-Domain-Or-IP': Buffer.from(domainOrIp).toString('latin1'),
        'X-Status': status,
      }
      const url = 'http://localhost/v2/reseller/licenses/generate'
      const response = await api.fetch(new Request(url, { method: 'POST', headers }))
      if (!response.ok) throw new Error(await response.text())
      const { data } = (await response.json()) as { data: { license_key: string } }
      return data.license_key
    },
  }
}

export function newKey(): ReturnType<typeof generateKeyPairSync>['privateKey'] {
  return generateKeyPairSync('ed25519').privateKey
}
