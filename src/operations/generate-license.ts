import { z } from 'zod'
import type { Credential } from '../domain/access.ts'
import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { License } from '../domain/license.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { sha256 } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { InsertLicenseResult, NewIdempotencyKey } from '../ports/storage.ts'
import { requiredText } from './input-schemas.ts'
import { domainOrIp, licenseStatus, licenseTag, registeredUser, type LicenseParts } from './license-fields.ts'
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

const keyAttempts = 4
const idempotencyLifetimeMs = 24 * 60 * 60 * 1000

const otherFields: Refusal = {
  code: 'idempotency_mismatch',
  message: 'The Idempotency-Key was sent before with other fields.',
}

/**
 * Creates a license with a new key.
 *
 * @see docs/contract.md section 4.3
 */
export function generateLicense(
  parts: LicenseParts,
): Operation<GenerateLicenseInput, GenerateLicenseOutput, Credential> {
  const { storage, clock } = parts

  async function insert(
    license: Omit<License, 'licenseKey'>,
    idempotency: NewIdempotencyKey | undefined,
    call: StorageCall,
  ): Promise<License> {
    for (let attempt = 1; attempt <= keyAttempts; attempt += 1) {
      const row = { ...license, licenseKey: newLicenseKey(parts) }
      // Attempts depend on each other: a new key is made only once the last one is known to be taken.
      // oxlint-disable-next-line no-await-in-loop
      const result = await storage.insertLicense(row, idempotency, call)
      if (result === 'inserted') return row
      if (result !== 'key_taken') return replayed(result, idempotency)
    }
    throw new UtilityApiError('internal_error', 'No unused license key was found.')
  }

  return {
    id: 'generateLicense',
    method: 'POST',
    path: '/v2/reseller/licenses/generate',
    summary: 'Generate a reseller license',
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
      status: {
        in: 'header',
        name: 'X-Status',
        description: 'Status of the license.',
        example: 'valid',
      },
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
    output: z.object({
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

    async run(input, { ownerId: resellerId }, call) {
      const now = clock.now()
      const { registeredTo, domainOrIp: domain, status } = input
      const license = await insert(
        { registeredTo, domainOrIp: domain, status, resellerId, createdAt: now, updatedAt: now },
        input.idempotencyKey === undefined
          ? undefined
          : {
              resellerId,
              keyHash: sha256(input.idempotencyKey),
              requestHash: sha256(JSON.stringify([registeredTo, domain, status])),
              expiresAt: now + idempotencyLifetimeMs,
            },
        call,
      )
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

/** Returns a new key. One that the generator itself would not find again must not be sold. */
function newLicenseKey(parts: LicenseParts): string {
  const licenseKey = parts.keyGenerator.licenseKey(parts.keyPrefix)
  const isKey = typeof licenseKey === 'string' && licenseKey !== ''
  if (isKey && storedLicenseKey(parts, licenseKey) === licenseKey) return licenseKey
  throw new Error('The key generator made a key that cannot be stored or found.')
}

function replayed(
  first: Exclude<InsertLicenseResult, string>,
  idempotency: NewIdempotencyKey | undefined,
): License {
  if (idempotency !== undefined && Buffer.compare(first.requestHash, idempotency.requestHash) === 0)
    return first.replay
  throw refused(otherFields)
}
