import { demand, demandKnown, isOptions } from './arguments.ts'
import { coversHost } from './compared-domain.ts'
import type { License } from './license.ts'

const optionNames = new Set(['at', 'statuses'])

/**
 * Tells whether software may run: there is a license, its status is one of these, its end has not come, and it is for this
 * host.
 *
 * @param license - What `findLicense` returned: null is not good. Of a signed license, the claims, by these names.
 * @param host - Where the software runs, as `coversHost` takes it.
 * @param options - `at`: when; default: now, by the machine's clock. `statuses`: those that let software run; default:
 * `['valid']`.
 *
 * @throws `UtilityApiError` `invalid_argument` if an argument is invalid, such as a promise that nobody awaited
 *
 * @example
 * ```ts
 * import { licenseIsGood } from 'utility-api'
 *
 * app.get('/license/:key', async (request, response) => {
 *   const license = await api.findLicense(request.params.key)
 *   response.json({ valid: licenseIsGood(license, String(request.query['domain'])) })
 * })
 * ```
 *
 * @group Licenses
 */
export function licenseIsGood(
  license: Pick<License, 'domainOrIp' | 'status' | 'expiresAt'> | null,
  host: string,
  options: { readonly at?: Date; readonly statuses?: readonly string[] } = {},
): boolean {
  const areOptions = isOptions(options) && !(options instanceof Date)
  demand(areOptions, 'options must be an object, as in { at, statuses }.')
  demandKnown(options, optionNames)
  const { at = new Date(), statuses = ['valid'] } = options
  const time = at instanceof Date ? at.getTime() : Number.NaN
  demand(Number.isFinite(time), 'at must be a Date with a time.')
  demand(Array.isArray(statuses), "statuses must be a list: write ['valid'].")
  demand(typeof host === 'string', 'host must be a string.')
  if (license === null) return false
  const { status, domainOrIp, expiresAt } = Object(license) as License
  // Without its end, a license would never end.
  demand(
    typeof status === 'string' && (expiresAt === null || Number.isFinite(expiresAt)),
    'license must be what findLicense returned: null, or an object with domainOrIp, status and expiresAt.',
  )
  return statuses.includes(status) && (expiresAt === null || time < expiresAt) && coversHost(domainOrIp, host)
}
