import * as z from 'zod'
import type { Credential } from '../domain/credentials.ts'
import { refusal, refused, type Refusal } from '../domain/errors.ts'
import { compared } from '../domain/compared-domain.ts'
import type { LicensePatch } from '../domain/license.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import type { Writable } from '../domain/writable.ts'
import type { UpdateLicenseResult } from '../ports/storage.ts'
import { andThen } from '../domain/maybe-promise.ts'
import { requiredText } from './input-schemas.ts'
import { domainOrIp, licenseStatus, licenseTag, registeredUser, type LicenseParts } from './license-inputs.ts'
import type { Operation } from './operation.ts'

export interface UpdateLicenseInput {
  licenseKey: string
  registeredTo?: string | undefined
  domainOrIp?: string | undefined
  status?: string | undefined
}

export interface UpdateLicenseOutput {
  message: string
}

const noFields = refusal(
  'invalid_request',
  'Send at least one of the headers X-Registered-To, X-Domain-Or-IP, X-Status.',
)
/** By what storage answers, so that an answer without a refusal does not compile. */
const refusals: Readonly<Record<Exclude<UpdateLicenseResult, 'updated'>, Refusal>> = {
  not_found: refusal('license_not_found', 'The license does not exist.'),
  not_owner: refusal('license_owner_mismatch', 'The reseller token does not match the license.'),
}

/**
 * Changes the sent fields of a license.
 *
 * @see docs/contract.md section 4.2
 */
export function updateLicense(
  parts: LicenseParts,
): Operation<UpdateLicenseInput, UpdateLicenseOutput, Credential> {
  const { storage, clock } = parts

  return {
    id: 'updateLicense',
    method: 'PUT',
    path: '/v2/reseller/{license_key}/update',
    summary: 'Update a reseller license',
    description:
      'Changes only the fields that are sent, in one statement that also checks the owner of the license. At least one of the three headers is required. If one of them is invalid, nothing is changed. The request has no body.',
    tag: licenseTag,
    waitsFor: 'storage',
    parameters: {
      licenseKey: {
        in: 'path',
        name: 'license_key',
        description: 'The key of the license.',
        example: 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR',
      },
      registeredTo: {
        in: 'header',
        name: 'X-Registered-To',
        description: 'New name of the registered user.',
        example: 'Ada Lovelace',
      },
      domainOrIp: {
        in: 'header',
        name: 'X-Domain-Or-IP',
        description: 'New domain or IP address.',
        example: 'shop.example',
      },
      status: { in: 'header', name: 'X-Status', description: 'New status.', example: 'valid' },
    },
    input: z.object({
      licenseKey: requiredText(),
      registeredTo: registeredUser().optional(),
      domainOrIp: domainOrIp(parts).optional(),
      status: licenseStatus(parts).optional(),
    }),
    output: () => z.object({ message: z.string().describe('A confirmation text.') }),

    example: { message: 'License updated.' },
    refusals: [noFields, ...Object.values(refusals)],

    run(input, { ownerId: resellerId }, call) {
      const patch = patchOf(input)
      const licenseKey = storedLicenseKey(parts, input.licenseKey)
      if (licenseKey === null)
        throw refused(refusals.not_found, { cause: 'The key was changed or mistyped.' })
      const update = { licenseKey, resellerId, patch: compared(patch), at: clock.now() }
      return andThen(storage.updateLicense(update, call), (result) => {
        if (result !== 'not_found') call.licenseKey = licenseKey
        if (result !== 'updated') throw refused(refusals[result])
        return { message: 'License updated.' }
      })
    },
  }
}

function patchOf({ registeredTo, domainOrIp: domain, status }: UpdateLicenseInput): LicensePatch {
  if (registeredTo === undefined && domain === undefined && status === undefined) throw refused(noFields)
  const patch: Writable<LicensePatch> = {}
  if (registeredTo !== undefined) patch.registeredTo = registeredTo
  if (domain !== undefined) patch.domainOrIp = domain
  if (status !== undefined) patch.status = status
  return patch
}
