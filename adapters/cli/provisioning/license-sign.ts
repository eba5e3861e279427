import { createUtilityApi } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { adminOptions, withDatabase } from '../database/database.ts'
import { command, type AnyCommand } from '../terminal/command.ts'
import { isUtilityApiError } from '../terminal/error-sentence.ts'
import { licenseOptions, licenseRules } from '../terminal/license-options.ts'
import { given, secondsOf, tenYears } from '../terminal/option-values.ts'
import { printFields, printJson } from '../terminal/output.ts'
import { keyArgument, noLicense } from './license-key.ts'
import { signingKeyIn } from './signing-key.ts'

const signingKeyOption = {
  type: 'string',
  required: true,
  valueHint: 'FILE',
  description: 'A private Ed25519 key, made with: openssl genpkey -algorithm ed25519 -out FILE.',
} as const

export const sign: AnyCommand = command({
  description: 'Print a signed statement about a license, which a product can check offline.',
  args: {
    ...keyArgument,
    'signing-key': signingKeyOption,
    issuer: {
      type: 'string',
      required: true,
      valueHint: 'NAME',
      description: 'The issuer that the product expects: a name or a URL of yours.',
    },
    lifetime: {
      type: 'string',
      required: true,
      valueHint: 'TIME',
      description: 'How long it is valid, even if the license changes: seconds, or 12h, 7d; at most 3650d.',
    },
    audience: {
      type: 'string',
      valueHint: 'NAME',
      description: 'The product that it is for. Default: any that trusts the key.',
    },
    'key-prefix': licenseOptions['key-prefix'],
    ...adminOptions,
  },
  notes: [
    'A license of any status is signed; the statement includes the status. It ends with the license at the latest.',
  ],
  examples: [
    'license sign LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --signing-key license-key.pem --issuer https://shop.example --lifetime 7d > license.jwt',
  ],
  run: ({ key, issuer, lifetime, audience, json, database, storage: module, ...args }) => {
    const lifetimeSeconds = secondsOf('lifetime', lifetime, 1, tenYears)
    const licenses = { ...licenseRules(args), issuer, signingKey: signingKeyIn(args['signing-key']) }
    return withDatabase({ database, storage: module }, async (storage) => {
      await using api = createUtilityApi({ storage, licenses, dns: false, blockgame: false })
      const statement = await api
        .signLicense(key, { lifetimeSeconds, ...given({ audience }) })
        .catch((error: unknown) => rethrow(error, key, args['key-prefix']))
      if (json) printFields({ statement }, json)
      else console.log(statement)
    })
  },
})

/** The cause says more of a database than what a stranger is told over HTTP. */
function rethrow(error: unknown, key: string, prefix: string | undefined): never {
  if (!isUtilityApiError(error)) throw error
  if (error.code === 'license_not_found') throw noLicense(key, prefix)
  throw error.cause instanceof StorageError ? error.cause : error
}

export const jwks: AnyCommand = command({
  description: 'Print the public keys that verify statements as a JWKS, to be shipped with the product.',
  args: {
    'signing-key': {
      ...signingKeyOption,
      mayRepeat: true,
      description: 'A private key that signs, has signed or will sign; may be repeated.',
    },
  },
  examples: [
    'license jwks --signing-key license-key.pem > license-keys.json',
    'license jwks --signing-key license-key.pem --signing-key next-key.pem',
  ],
  run({ 'signing-key': files }) {
    // The public keys name no issuer, and a service cannot have keys without one.
    const licenses = { issuer: 'nobody', signingKey: files.map(signingKeyIn) }
    printJson(createUtilityApi({ storage: memoryStorage(), licenses }).licenseJwks())
  },
})
