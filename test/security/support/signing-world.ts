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
  /** Creates a license, and returns its key. */
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
      const { resellerId } = await admin.createReseller()
      const { licenseKey } = await admin.createLicense({ resellerId, registeredTo, domainOrIp, status })
      return licenseKey
    },
  }
}

export function newKey(): ReturnType<typeof generateKeyPairSync>['privateKey'] {
  return generateKeyPairSync('ed25519').privateKey
}
