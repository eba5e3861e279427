import * as z from 'zod'
import type { Client } from '../domain/credentials.ts'
import { refusal, refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import { matchesSecret } from '../domain/secret.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import { inputProblem } from '../operations/input-problem.ts'
import { isVisibleText, visibleText } from '../operations/input-schemas.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import { realm, type Presented, type Scheme, type SchemeParameter } from './scheme.ts'

/** RFC 7617: base64 with its padding. `Buffer` would decode almost anything. */
const basicGrammar = /^basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/i

const challenge = `Basic realm="${realm}"`

const failed = refusal('invalid_client', 'Client authentication failed.')
const malformedHeader = refusal('invalid_client', 'The Authorization header is malformed.')
const twoSecrets = refusal('invalid_request', 'client_secret must match the one in the Authorization header.')
const twoClients = refusal('invalid_request', 'client_id must match the one in the Authorization header.')

/** The longest identifier that a store is asked for. */
const longestClientId = 255
/** What a secret is compared with if no such client exists, so that both cases cost the same. */
const noSecretHashes: readonly Uint8Array[] = [new Uint8Array(32)]

interface ClientCredentials {
  clientId: string
  clientSecret: string
}

/** A client as it presents itself: its secret in each form that its header may stand for. */
interface PresentedClient {
  readonly clientId: string
  /** None if it sent no secret. */
  readonly secrets: readonly string[]
  /** What a client that has a secret is told if it sent none. */
  readonly missing?: UtilityApiError
}

const parameters: Readonly<Record<keyof ClientCredentials, SchemeParameter>> = {
  clientId: {
    in: 'body',
    name: 'client_id',
    description: 'The client identifier. Required without an Authorization header.',
    example: '74a41a51-0874-48e8-a2ca-9bde6ae898f8',
    schema: visibleText().meta({ maxLength: longestClientId }),
  },
  clientSecret: {
    in: 'body',
    name: 'client_secret',
    description: 'The client secret. Required without an Authorization header, but not of a public client.',
    example: 'uapi_cs_2nZd1Z1lRwL0dK4d8jUarMsKn3x9tWe2bYcO6fIgQhVp5Su2',
    schema: visibleText(),
  },
}
const credentials: z.ZodType<ClientCredentials> = z.object({
  clientId: visibleText(),
  clientSecret: visibleText(),
})

/**
 * Creates the scheme for OAuth clients: those that send their secret in the body or by HTTP Basic, and public ones, which
 * have none and only say who they are.
 *
 * @see RFC 6749 sections 2.1, 2.3.1 and 3.2.1
 */
export function oauthClientScheme(storage: Pick<TimedStorage, 'findClient'>): Scheme<Client> {
  const find = (clientId: string, presented: Presented): MaybePromise<Client | null> =>
    clientId.length > longestClientId ? null : storage.findClient(clientId, presented)

  /**
   * Finds the public client that sent no secret. All others are told what is missing, even if storage fails, so a
   * client that has forgotten its secret is answered as ever.
   */
  async function findPublic(
    clientId: string,
    missing: UtilityApiError,
    presented: Presented,
  ): Promise<Client> {
    let client: Client | null
    try {
      client = await find(clientId, presented)
    } catch (cause) {
      const { code, message, headers } = missing
      throw new UtilityApiError(code, message, { headers, cause })
    }
    if (client?.clientType !== 'public') throw missing
    if (client.revokedAt !== null) throw refusedClient(failed, presented, 'The client is revoked.')
    return client
  }

  return {
    name: 'client',
    parameters: Object.values(parameters),
    refusals: () => [failed, malformedHeader, twoSecrets, twoClients],
    async authenticate(presented) {
      const { clientId, secrets, missing } = presentedClient(presented)
      if (missing !== undefined) return findPublic(clientId, missing, presented)
      const client = await find(clientId, presented)
      const hashes = client === null || client.clientType === 'public' ? noSecretHashes : client.secretHashes
      // All of them: how long it takes depends on what was sent, and not on what is right.
      const matches = secrets.filter((secret) => matchesSecret(secret, hashes)).length > 0
      if (client === null) throw refusedClient(failed, presented, 'There is no client with this client_id.')
      if (client.clientType === 'public')
        throw refusedClient(failed, presented, 'The client is public, so it has no secret, and sent one.')
      if (!matches) throw refusedClient(failed, presented, 'The client secret is wrong.')
      if (client.revokedAt !== null) throw refusedClient(failed, presented, 'The client is revoked.')
      return client
    },
    callerId: ({ clientId }) => clientId,
    isUnproven: ({ clientType }) => clientType === 'public',
    // What a client may have is decided by its code.
    requirePermission() {},
    challenge: null,
    errorBody: (error) => ({ error: oauthCode(error), error_description: error.message }),
    openapi: {
      scheme: {
        type: 'http',
        scheme: 'basic',
        description:
          'The identifier and the secret of the client, instead of in the body (RFC 6749 section 2.3.1).',
      },
      bodies: [
        { title: 'The secret in the body', required: ['client_id', 'client_secret'] },
        { title: 'The secret in an Authorization header (HTTP Basic)', required: [] },
        {
          title: 'A public client, which has no secret',
          required: ['client_id', 'code_verifier'],
          without: ['client_secret'],
        },
      ],
      codes: 'A code of RFC 6749.',
      challenge: {
        description: 'Only if the request has an Authorization header (RFC 6749 section 5.2).',
        example: challenge,
      },
    },
  }
}

/**
 * Both places may name the client, if they agree, because libraries that are told to send the header go on sending the
 * body's members. Neither is then a second method of authentication, which RFC 6749 section 2.3 forbids.
 */
function presentedClient(presented: Presented): PresentedClient {
  const clientId = presented.body.get('client_id')
  const clientSecret = presented.body.get('client_secret')
  const authorization = presented.header('Authorization') ?? ''
  // An empty header counts as missing, as everywhere.
  if (authorization === '') return fromBody({ clientId, clientSecret }, presented.body.mistake)
  const client = fromHeader(authorization)
  if (client === null) throw refusedClient(malformedHeader, presented)
  if (client.secrets.length === 0) {
    const missing = refusedClient(malformedHeader, presented)
    if (isNone(clientSecret) && (isNone(clientId) || clientId === client.clientId))
      return { ...client, missing }
    throw missing
  }
  if (!isNone(clientId) && clientId !== client.clientId) throw refused(twoClients)
  if (isNone(clientSecret)) return client
  const same = client.secrets.filter((secret) => secret === clientSecret)
  if (same.length === 0) throw refused(twoSecrets)
  return { ...client, secrets: same }
}

/** An empty value counts as missing (RFC 6749 section 3.2). */
function isNone(member: unknown): boolean {
  return member === undefined || member === ''
}

function fromBody(
  members: Record<keyof ClientCredentials, unknown>,
  mistake: Refusal | undefined,
): PresentedClient {
  const result = credentials.safeParse(members)
  if (result.success) return { clientId: result.data.clientId, secrets: [result.data.clientSecret] }
  const missing = inputProblem(Object.entries(parameters), result.error, mistake)
  const { data: clientId } = parameters.clientId.schema.safeParse(members.clientId)
  if (typeof clientId !== 'string' || !isNone(members.clientSecret)) throw missing
  return { clientId, secrets: [], missing }
}

/**
 * Reads a Basic credential. Returns null if the header is not one. An empty secret is none.
 *
 * Both halves are form-encoded (RFC 6749 section 2.3.1). Most libraries send them as they are, so a secret counts as it
 * was sent too; an identifier does not, as a second one would have to be looked up.
 */
function fromHeader(authorization: string): PresentedClient | null {
  const encoded = basicGrammar.exec(authorization)?.[1] ?? ''
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const clientId = formDecode(text.slice(0, Math.max(0, colon)))
  const sent = text.slice(colon + 1)
  const decoded = formDecode(sent)
  // What is not allowed in a body is not allowed here either, because the storage is promised text without control
  // characters.
  const secrets = (decoded === sent ? [sent] : [decoded, sent]).filter(isVisibleText)
  return isVisibleText(clientId) && (sent === '' || secrets.length > 0) ? { clientId, secrets } : null
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return ''
  }
}

/**
 * Challenges only a client that used `Authorization`, because OAuth libraries that see a challenge they did not ask for
 * report it instead of the error.
 *
 * @param cause - Why, for the log: the sender is told no more than the refusal says.
 *
 * @see RFC 6749 section 5.2
 */
function refusedClient(why: Refusal, presented: Presented, cause?: string): UtilityApiError {
  if ((presented.header('Authorization') ?? '') === '') return refused(why, { cause })
  return refused(why, { headers: { 'WWW-Authenticate': challenge }, cause })
}

/**
 * Returns the RFC 6749 code of an error, because OAuth clients know no others.
 *
 * @see RFC 6749 sections 5.2 and 4.1.2.1
 */
function oauthCode({ code, status }: UtilityApiError): string {
  // The statuses of section 5.2: their codes are its codes.
  if (status === 400 || status === 401) return code
  if (code === 'unavailable' || code === 'too_many_requests') return 'temporarily_unavailable'
  return status < 500 ? 'invalid_request' : 'server_error'
}
