import { z } from 'zod'
import { UtilityApiError } from '../domain/errors.ts'
import type { LicensePatch } from '../domain/license.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { displayText, domainOrIp, licenseStatus, requiredText } from './fields.ts'
import { callerOf, type Operation } from './operation.ts'

export interface LicenseParts {
  readonly storage: UtilityStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly keyPrefix: string
  readonly statuses: readonly string[]
  readonly allowWildcards: boolean
}

export interface UpdateLicenseInput {
  licenseKey: string
  registeredTo?: string | undefined
  domainOrIp?: string | undefined
  status?: string | undefined
}

export interface UpdateLicenseOutput {
  message: string
}

/**
 * Changes the sent fields of a licence.
 *
 * @see spec section 4.2
 */
export function updateLicense(parts: LicenseParts): Operation<UpdateLicenseInput, UpdateLicenseOutput> {
  const { storage, clock, keyGenerator, keyPrefix } = parts

  return {
    id: 'updateLicense',
    method: 'PUT',
    path: '/v2/reseller/{license_key}/update',
    summary: 'Update a reseller licence',
    security: { kind: 'reseller_token' },
    waitsFor: 'storage',
    parameters: {
      licenseKey: { in: 'path', name: 'license_key', description: 'The key of the licence.' },
      registeredTo: {
        in: 'header',
        name: 'X-Registered-To',
        description: 'New name of the registered user.',
      },
      domainOrIp: { in: 'header', name: 'X-Domain-Or-IP', description: 'New domain or IP address.' },
      status: { in: 'header', name: 'X-Status', description: 'New status.' },
    },
    input: z.object({
      licenseKey: requiredText(),
      registeredTo: displayText().optional(),
      domainOrIp: domainOrIp(parts.allowWildcards).optional(),
      status: licenseStatus(parts.statuses).optional(),
    }),
    output: z.object({ message: z.string().describe('A confirmation text.') }),

    async run(input, context) {
      const patch = patchOf(input)
      const licenseKey = keyGenerator.parseLicenseKey(input.licenseKey, keyPrefix)
      const result =
        licenseKey === null
          ? 'not_found'
          : await storage.updateLicense({
              licenseKey,
              resellerId: callerOf(context).ownerId,
              patch,
              at: clock.now(),
            })
      if (result === 'not_found')
        throw new UtilityApiError('license_not_found', 'The license does not exist.')
      if (result === 'not_owner') {
        throw new UtilityApiError('license_owner_mismatch', 'The reseller token does not match the license.')
      }
      return { message: 'License updated.' }
    },
  }
}

function patchOf({ registeredTo, domainOrIp: domain, status }: UpdateLicenseInput): LicensePatch {
  if (registeredTo === undefined && domain === undefined && status === undefined) {
    throw new UtilityApiError(
      'invalid_request',
      'Send at least one of X-Registered-To, X-Domain-Or-IP, X-Status.',
    )
  }
  const patch: { -readonly [Field in keyof LicensePatch]: LicensePatch[Field] } = {}
  if (registeredTo !== undefined) patch.registeredTo = registeredTo
  if (domain !== undefined) patch.domainOrIp = domain
  if (status !== undefined) patch.status = status
  return patch
}
