import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { AuthorizationCode, Client } from '../domain/access.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { hashSecret, matchesSecret } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { Logger } from '../ports/logger.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { requiredText, visibleText } from './fields.ts'
import type { Operation } from './operation.ts'

export interface ExchangeTokenInput {
  grantType: string
  code: string
  redirectUri: string
  clientId: string
  clientSecret: string
  codeVerifier?: string | undefined
}

export interface ExchangeTokenOutput {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
}

export interface ExchangeTokenParts {
  readonly storage: UtilityStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly logger: Logger
  readonly accessTokenLifetimeSeconds: number
  readonly onReplay: 'revoke' | 'deny'
}

// What a secret is compared with when there is no such client, so that both cases cost the same.
const noSecretHashes: readonly Uint8Array[] = [new Uint8Array(32)]

/**
 * Exchanges an authorization code for an access token.
 *
 * @see spec section 4.1, RFC 6749 section 4.1.3
 */
export function exchangeToken(parts: ExchangeTokenParts): Operation<ExchangeTokenInput, ExchangeTokenOutput> {
  const { storage, clock, keyGenerator, logger } = parts

  async function authenticateClient({ clientId, clientSecret }: ExchangeTokenInput): Promise<Client> {
    const client = await storage.findClient(clientId)
    const matches = matchesSecret(clientSecret, client?.secretHashes ?? noSecretHashes)
    if (client === null || !matches || client.revokedAt !== null) {
      throw new UtilityApiError('invalid_client', 'Client authentication failed.')
    }
    return client
  }

  async function findCode(input: ExchangeTokenInput, codeHash: Uint8Array): Promise<AuthorizationCode> {
    const code = await storage.findAuthorizationCode(codeHash)
    if (code === null || code.clientId !== input.clientId || code.redirectUri !== input.redirectUri) {
      throw invalidGrant()
    }
    checkVerifier(code.codeChallenge, input.codeVerifier)
    return code
  }

  async function refuseReplay(codeHash: Uint8Array, clientId: string): Promise<never> {
    const revoked =
      parts.onReplay === 'revoke' ? await storage.revokeAccessTokensOfCode(codeHash, clock.now()) : 0
    logger.warn('An authorization code was used again.', { clientId, revokedTokens: revoked })
    throw invalidGrant()
  }

  return {
    id: 'exchangeToken',
    method: 'POST',
    path: '/v4/oauth2/token',
    summary: 'Exchange an authorization code for an access token',
    security: { kind: 'client' },
    waitsFor: 'storage',
    parameters: {
      grantType: { in: 'body', name: 'grant_type', description: 'Always `authorization_code`.' },
      code: { in: 'body', name: 'code', description: 'The authorization code received at the callback.' },
      redirectUri: {
        in: 'body',
        name: 'redirect_uri',
        description: 'The callback address the code was sent to.',
      },
      clientId: { in: 'body', name: 'client_id', description: 'The client identifier.' },
      clientSecret: { in: 'body', name: 'client_secret', description: 'The client secret.' },
      codeVerifier: {
        in: 'body',
        name: 'code_verifier',
        description:
          'The PKCE verifier (RFC 7636), if and only if the code was issued with an S256 challenge.',
      },
    },
    input: z.object({
      grantType: requiredText(),
      code: visibleText(),
      redirectUri: requiredText(),
      clientId: visibleText(),
      clientSecret: visibleText(),
      codeVerifier: requiredText()
        .regex(/^[A-Za-z0-9._~-]{43,128}$/, 'must have 43 to 128 unreserved characters')
        .optional(),
    }),
    output: z.object({
      access_token: z.string().describe('The access token.'),
      token_type: z.literal('Bearer').describe('How the token is presented.'),
      expires_in: z.int().describe('Lifetime of the token in seconds.'),
      scope: z.string().describe('The scope granted: names separated by spaces, empty for none.'),
    }),

    async run(input, context) {
      const client = await authenticateClient(input)
      await context.identified(client.clientId)
      if (input.grantType !== 'authorization_code') {
        throw new UtilityApiError('unsupported_grant_type', 'grant_type must be authorization_code.')
      }
      if (client.redirectUris.length === 0) {
        throw new UtilityApiError(
          'unauthorized_client',
          'The client has no redirection URI, so it cannot use a code.',
        )
      }
      const codeHash = hashSecret(input.code)
      const code = await findCode(input, codeHash)
      // Before expiry: a stolen code is often replayed late, and its token must go all the same.
      if (code.redeemedAt !== null) return refuseReplay(codeHash, client.clientId)

      const now = clock.now()
      if (now >= code.expiresAt) throw invalidGrant()
      const accessToken = keyGenerator.secret('access_token')
      const redeemed = await storage.redeemAuthorizationCode(codeHash, now, {
        id: keyGenerator.id(),
        hash: hashSecret(accessToken),
        ownerId: client.clientId,
        scope: code.scope,
        expiresAt: now + parts.accessTokenLifetimeSeconds * 1000,
      })
      if (!redeemed) return refuseReplay(codeHash, client.clientId)
      return {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: parts.accessTokenLifetimeSeconds,
        scope: code.scope,
      }
    },
  }
}

// One text for every reason, so that a thief of a code does not learn what is still missing.
function invalidGrant(): UtilityApiError {
  return new UtilityApiError(
    'invalid_grant',
    'The authorization code is invalid, expired, spent or not for this request.',
  )
}

/** @see RFC 7636 section 4.6 */
function checkVerifier(challenge: string | null, verifier: string | undefined): void {
  if (challenge === null) {
    if (verifier === undefined) return
    throw new UtilityApiError(
      'invalid_request',
      'code_verifier was sent, but the code was issued without a challenge.',
    )
  }
  if (verifier === undefined || createHash('sha256').update(verifier).digest('base64url') !== challenge) {
    throw invalidGrant()
  }
}
