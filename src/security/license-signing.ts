import type { KeyObject } from 'node:crypto'
import { demand, demandKnown, invalidOption, isOptions } from '../domain/arguments.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { isStringOrUri, licenseSigner, type LicenseJwk, type StatementTerms } from '../domain/license-jws.ts'
import type { Clock } from '../ports/clock.ts'
import type { Verifier } from './verifier.ts'

/**
 * What a signed license is made for.
 *
 * @group Licenses
 */
export interface SignLicenseOptions {
  /**
   * How long the statement is valid, in whole seconds, at most ten years, and never beyond the end of the license. It
   * cannot be revoked before then.
   */
  readonly lifetimeSeconds: number
  /** Whom it is for, as `aud`: a name without spaces, such as your product's, never undefined. Default: left out. */
  readonly audience?: string
}

/**
 * Signs what your service says about a license, for software that must keep working when the service cannot be reached.
 *
 * @group Licenses
 */
export interface LicenseSigning {
  /**
   * Returns a signed statement about a license: a compact JWS that every JWT library verifies. Its header has `alg`
   * `EdDSA`, `typ` `license+jwt` and `kid`; its claims are `iss`, `sub` (the license key), `aud`, `iat`, `exp`, `status`,
   * `registered_to` and `domain_or_ip`. A license of any status is signed, so that the reader must check `status` too. One
   * that has ended has its end as `exp`, so that every library says that the statement has expired. `iat` is five minutes
   * ago, so that libraries accept a new statement by a clock that is behind.
   *
   * @param licenseKey - The key as a person typed it.
   *
   * @throws `UtilityApiError` `invalid_argument` (400) if an option is invalid, `license_not_found` (404), `database_error`
   * (500), `unavailable` (503) after `close()`; `invalid_options` without `licenses.issuer` and `licenses.signingKey`
   *
   * @example
   * ```ts
   * app.get('/license/:key/statement', async (request, response) => {
   *   response.send(await api.signLicense(request.params.key, { lifetimeSeconds: 7 * 86_400 }))
   * })
   * ```
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc7519 | RFC 7519}
   */
  readonly signLicense: (licenseKey: string, options: SignLicenseOptions) => Promise<string>
  /**
   * Returns the public halves of all `licenses.signingKey`, ready to be sent as JSON (a JWKS) and to be shipped with your
   * software.
   *
   * @throws `UtilityApiError` `invalid_options` without `licenses.issuer` and `licenses.signingKey`
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5 | RFC 7517 section 5}
   */
  readonly licenseJwks: () => { keys: LicenseJwk[] }
}

/** Who signs. The first key does; all are published. */
export interface SigningSettings {
  readonly issuer: string
  readonly keys: readonly [KeyObject, ...KeyObject[]]
}

/** Everything that signing needs. */
interface SigningParts {
  readonly findLicense: Verifier['findLicense']
  readonly clock: Clock
  /** Undefined if the options name no key. */
  readonly signing: SigningSettings | undefined
}

const longestLifetimeSeconds = 315_360_000
const optionNames = new Set(['lifetimeSeconds', 'audience'])

/** Creates the methods that sign. Licenses are found as `findLicense` finds them. */
export function createLicenseSigning({ findLicense, clock, signing }: SigningParts): LicenseSigning {
  if (signing === undefined) return { signLicense: async () => notConfigured(), licenseJwks: notConfigured }
  const [key, ...others] = signing.keys
  const signer = licenseSigner(key)
  const jwks = [signer, ...others.map(licenseSigner)].map(({ jwk }) => jwk)
  return {
    async signLicense(licenseKey, options) {
      const terms = termsOf(options)
      const license = await findLicense(licenseKey)
      if (license === null) throw new UtilityApiError('license_not_found', 'The license does not exist.')
      return signer.sign(license, { issuer: signing.issuer, now: clock.now(), ...terms })
    },
    licenseJwks: () => ({ keys: jwks.map((jwk) => ({ ...jwk })) }),
  }
}

function notConfigured(): never {
  throw invalidOption('licenses.signingKey', 'is needed to sign licenses')
}

/** Returns a copy of the options, because they are checked before the license is looked up, and used after it. */
function termsOf(options: SignLicenseOptions): Pick<StatementTerms, 'lifetimeSeconds' | 'audience'> {
  demand(isOptions(options), 'options must be an object: write { lifetimeSeconds }.')
  demandKnown(options, optionNames)
  const { lifetimeSeconds, audience } = options
  const fits =
    Number.isInteger(lifetimeSeconds) && lifetimeSeconds >= 1 && lifetimeSeconds <= longestLifetimeSeconds
  demand(fits, `lifetimeSeconds must be an integer from 1 to ${longestLifetimeSeconds}.`)
  const isAudience = !('audience' in options) || isStringOrUri(audience)
  demand(isAudience, 'audience must be 1 to 255 visible ASCII characters, and a URI if it has a colon.')
  return { lifetimeSeconds, audience }
}
