import * as z from 'zod'
import { needsChallenge, type AuthorizationCode, type Client } from '../domain/credentials.ts'
import { refusal, refused, type UtilityApiError } from '../domain/errors.ts'
import { hashSecret, isMistyped, newSecret, sha256 } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { Logger } from '../ports/logger.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import { refuseWith, requiredText, visibleText } from './input-schemas.ts'
import type { Operation, OperationCall } from './operation.ts'

export interface ExchangeTokenInput {
  grantType: string
  code: string
  redirectUri: string
  codeVerifier?: string | undefined
}

export interface ExchangeTokenOutput {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
}

export interface ExchangeTokenParts {
  readonly storage: TimedStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly logger: Logger
  readonly accessTokenLifetimeSeconds: number
  readonly onReplay: 'revoke' | 'deny'
}

const onlyGrantType = 'authorization_code'
const otherGrantType = refusal('unsupported_grant_type', `grant_type must be ${onlyGrantType}.`)
const noRedirectUri = refusal(
  'unauthorized_client',
  'The client has no redirection URI, so it cannot use a code.',
)
// One text for every reason, so that a thief of a code does not learn what is still missing.
const invalidGrant = refusal(
  'invalid_grant',
  'The authorization code is invalid, expired, spent or not for this request.',
)
const noChallenge = refusal(
  'invalid_request',
  'code_verifier was sent, but the code was issued without a challenge.',
)

/**
 * Exchanges an authorization code for an access token.
 *
 * @see docs/contract.md section 4.1, RFC 6749 section 4.1.3
 */
export function exchangeToken(
  parts: ExchangeTokenParts,
): Operation<ExchangeTokenInput, ExchangeTokenOutput, Client> {
  const { storage, clock, keyGenerator, logger } = parts

  async function refuseReplay(codeHash: Uint8Array, clientId: string, call: OperationCall): Promise<never> {
    const revokedTokens =
      parts.onReplay === 'revoke' ? await storage.revokeAccessTokensOfCode(codeHash, clock.now(), call) : 0
    const { requestId } = call
    logger.warn('An authorization code was used again.', { requestId, clientId, revokedTokens })
    throw refusedGrant('The code is spent.')
  }

  return {
    id: 'exchangeToken',
    method: 'POST',
    path: '/v4/oauth2/token',
    summary: 'Exchange an authorization code for an access token',
    description:
      'This is the second half of the OAuth 2.0 authorization code flow. The client sends the code that it received at its redirection URI, and gets an access token. A code can be exchanged for one token only, however often and wherever it is sent. The body is JSON or a form; the client may send its id and secret with HTTP Basic authentication instead of in the body.',
    tag: { name: 'OAuth', description: 'Codes become access tokens (RFC 6749).' },
    waitsFor: 'storage',
    parameters: {
      grantType: {
        in: 'body',
        name: 'grant_type',
        description: 'The kind of grant.',
        example: onlyGrantType,
      },
      code: {
        in: 'body',
        name: 'code',
        description: 'The authorization code received at the redirection URI.',
        example: 'uapi_ac_00V8N98jIKc9vJ3c7iTzqLrJm2w8sVd1aXbN49TsKE',
      },
      redirectUri: {
        in: 'body',
        name: 'redirect_uri',
        description: 'The redirection URI that the code was sent to.',
        example: 'https://shop.example/callback',
      },
      codeVerifier: {
        in: 'body',
        name: 'code_verifier',
        description:
          'The PKCE verifier (RFC 7636), if and only if the code was issued with an S256 challenge, as for every public client.',
        example: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      },
    },
    input: z.object({
      // Other grants have other fields, so the type is checked before any of these is reported missing.
      grantType: requiredText()
        .refine((type) => type === onlyGrantType, refuseWith(otherGrantType))
        .meta({ const: onlyGrantType }),
      code: visibleText(),
      redirectUri: requiredText(),
      codeVerifier: requiredText()
        .regex(/^[\x21-\x7e]{43,128}$/, 'must have 43 to 128 visible ASCII characters')
        .optional(),
    }),
    output: () =>
      z.object({
        access_token: z.string().describe('The access token.'),
        token_type: z.literal('Bearer').describe('How the token is presented.'),
        expires_in: z.int().describe('Lifetime of the token in seconds.'),
        scope: z.string().describe('The scope granted: names separated by spaces, empty for none.'),
      }),

    example: {
      access_token: 'uapi_at_00V8N98x02A2mSxM1eL5e9kVbsNtLo4y0uXf4c2LnR',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'dns:check',
    },
    refusals: [otherGrantType, noRedirectUri, invalidGrant, noChallenge],

    async run(input, client, call) {
      const { clientId, redirectUris } = client
      if (redirectUris.length === 0) throw refused(noRedirectUri)
      const codeHash = hashSecret(input.code)
      const code = requireCode(await storage.findAuthorizationCode(codeHash, call), input, client)
      // Checked before expiry: a stolen code is often replayed late, and its token must be revoked all the same.
      if (code.redeemedAt !== null) return refuseReplay(codeHash, clientId, call)

      const now = clock.now()
      // A clock that returns no number makes every code expired, not every code valid.
      if (!(now < code.expiresAt))
        throw refusedGrant(`The code expired ${(now - code.expiresAt) / 1000} s ago.`)
      const accessToken = newSecret(keyGenerator, 'access_token', now)
      const token = {
        id: keyGenerator.id(now),
        hash: hashSecret(accessToken),
        ownerId: clientId,
        subject: code.subject,
        scope: code.scope,
        createdAt: now,
        expiresAt: now + parts.accessTokenLifetimeSeconds * 1000,
      }
      const redeemed = await storage.redeemAuthorizationCode(codeHash, now, token, call)
      if (!redeemed) return refuseReplay(codeHash, clientId, call)
      return {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: parts.accessTokenLifetimeSeconds,
        scope: code.scope,
      }
    },
  }
}

/** Returns the code if it was issued for this request, even if it is spent or has expired. */
function requireCode(
  code: AuthorizationCode | null,
  { code: sent, redirectUri, codeVerifier }: ExchangeTokenInput,
  client: Client,
): AuthorizationCode {
  if (code === null) throw refusedGrant(whyUnknown(sent))
  if (code.clientId !== client.clientId) throw refusedGrant('The code was issued to another client.')
  if (code.redirectUri !== redirectUri) throw refusedGrant('The code was issued for another redirect_uri.')
  // The page asks for one too. This is for a code that was issued otherwise.
  if (code.codeChallenge === null && needsChallenge(client, redirectUri))
    throw refusedGrant('The code was issued without a challenge, which its client needs.')
  checkVerifier(code.codeChallenge, codeVerifier)
  return code
}

function whyUnknown(sent: string): string {
  if (isMistyped(sent)) return 'The checksum of the code is wrong: it was changed or mistyped.'
  return 'There is no such code in this storage: it was cut or mistyped, revoked or purged, or never issued.'
}

/** @see RFC 7636 section 4.6 */
function checkVerifier(challenge: string | null, verifier: string | undefined): void {
  if (challenge === null) {
    if (verifier !== undefined) throw refused(noChallenge)
    return
  }
  if (verifier === undefined)
    throw refusedGrant('The code was issued with a challenge, and code_verifier is missing.')
  if (sha256(verifier).toString('base64url') !== challenge)
    throw refusedGrant('code_verifier does not match the challenge.')
}

/** @param cause - Why, for the log: the sender is told the same in all cases. */
function refusedGrant(cause: string): UtilityApiError {
  return refused(invalidGrant, { cause })
}
