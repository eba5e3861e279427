import * as z from 'zod'
import type { Credential } from '../domain/credentials.ts'
import { refusal } from '../domain/errors.ts'
import { issueLicense } from '../storage/issue-license.ts'
import { requiredText } from './input-schemas.ts'
import { domainOrIp, licenseStatus, licenseTag, registeredUser, type LicenseParts } from './license-inputs.ts'
import type { Operation } from './operation.ts'

export interface GenerateLicenseInput {
  registeredTo: string
  domainOrIp: string
  status: string
  idempotencyKey?: string | undefined
}

export interface GenerateLicenseOutput {
  message: string
  data: { registered_to: string; domain_or_ip: string; license_key: string; status: string }
}

const otherFields = refusal('idempotency_mismatch', 'The Idempotency-Key was sent before with other fields.')
const lifetimeMs = 24 * 60 * 60 * 1000

/**
 * Creates a license with a new key.
 *
 * @see docs/contract.md section 4.3
 */
export function generateLicense(
  parts: LicenseParts,
): Operation<GenerateLicenseInput, GenerateLicenseOutput, Credential> {
  return {
    id: 'generateLicense',
    method: 'POST',
    path: '/v2/reseller/licenses/generate',
    summary: 'Generate a reseller license',
    description:
      'Creates a license with a new key for the reseller whose token is sent. Send an `Idempotency-Key` with every request that your program may retry. The repeat then gets the first answer instead of a second license. The request has no body.',
    tag: licenseTag,
    waitsFor: 'storage',
    parameters: {
      registeredTo: {
        in: 'header',
        name: 'X-Registered-To',
        description: 'Name of the registered user.',
        example: 'Ada Lovelace',
      },
      domainOrIp: {
        in: 'header',
        name: 'X-Domain-Or-IP',
        description: 'Domain or IP address to bind to.',
        example: 'shop.example',
      },
      status: { in: 'header', name: 'X-Status', description: 'Status of the license.', example: 'valid' },
      // No example: API pages would fill it in, and the second try would then get the license of the first.
      idempotencyKey: {
        in: 'header',
        name: 'Idempotency-Key',
        description: 'Repeating a request with the same key within 24 hours returns the first answer again.',
      },
    },
    input: z.object({
      registeredTo: registeredUser(),
      domainOrIp: domainOrIp(parts),
      status: licenseStatus(parts),
      idempotencyKey: requiredText()
        .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 visible ASCII characters')
        .optional(),
    }),
    output: () =>
      z.object({
        message: z.string().describe('A confirmation text.'),
        data: z.object({
          registered_to: z.string().describe('Name of the registered user.'),
          domain_or_ip: z.string().describe('Domain or IP address the license is bound to.'),
          license_key: z.string().describe('The new key.'),
          status: z.string().describe('Status of the license.'),
        }),
      }),

    example: {
      message: 'License generated.',
      data: {
        registered_to: 'Ada Lovelace',
        domain_or_ip: 'shop.example',
        license_key: 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR',
        status: 'valid',
      },
    },
    refusals: [otherFields],

    async run({ idempotencyKey, ...fields }, { ownerId: resellerId }, call) {
      const { registeredTo, domainOrIp: domain, status } = fields
      const request = [registeredTo, domain, status]
      const repeatable =
        idempotencyKey === undefined ? undefined : { idempotencyKey, request, otherFields, lifetimeMs }
      const license = await issueLicense(parts, { ...fields, resellerId }, repeatable, call)
      call.licenseKey = license.licenseKey
      return {
        message: 'License generated.',
        data: {
          registered_to: license.registeredTo,
          domain_or_ip: license.domainOrIp,
          license_key: license.licenseKey,
          status: license.status,
        },
      }
    },
  }
}
