/** Every kind of credential. */
export const credentialKinds = ['access_token', 'reseller_token', 'api_key'] as const

/**
 * The kind of a credential. Each kind opens its own operations and no others.
 *
 * @group Credentials
 */
export type CredentialKind = (typeof credentialKinds)[number]

/**
 * Every kind of secret this library generates.
 *
 * @group Credentials
 */
export type SecretKind = CredentialKind | 'client_secret' | 'authorization_code'

/** Every type of client. */
export const clientTypes = ['confidential', 'public'] as const

/**
 * Whether a client can keep a secret, as a server can, or not, as a program on the user's own machine.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-2.1 | RFC 6749 section 2.1}
 *
 * @group Credentials
 */
export type ClientType = (typeof clientTypes)[number]

/**
 * An OAuth client as it is stored.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-2 | RFC 6749 section 2}
 *
 * @group Credentials
 */
export interface Client {
  /** Public identifier. */
  readonly clientId: string
  /** SHA-256 of every secret that is currently accepted: none, one, or two after a rotation. */
  readonly secretHashes: readonly Uint8Array[]
  /**
   * Absent means confidential, because a client whose secrets were all taken away is nobody's, not everybody's. Never
   * changes.
   */
  readonly clientType?: ClientType
  /** The redirection URIs registered for this client. */
  readonly redirectUris: readonly string[]
  /** When it was registered, in milliseconds since the epoch; 0 if unknown. */
  readonly createdAt: number
  /** When the client was revoked, in milliseconds since the epoch; null while it is live. */
  readonly revokedAt: number | null
  /** A label for people; never used to decide anything. */
  readonly name?: string
}

/**
 * A reseller as it is stored.
 *
 * @group Credentials
 */
export interface Reseller {
  /** The identifier of the owner of reseller tokens and licenses. */
  readonly resellerId: string
  /** When it was created, in milliseconds since the epoch; 0 if unknown. */
  readonly createdAt: number
  /** A label for people; never used to decide anything. */
  readonly name?: string
}

/**
 * An authorization code as it is stored. Only `redeemedAt` ever changes.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2 | RFC 6749 section 4.1.2}
 *
 * @group Credentials
 */
export interface AuthorizationCode {
  /** The client the code was issued to. */
  readonly clientId: string
  /** Who agreed, in the owner's own terms, such as an account's identifier; null if this was not given. */
  readonly subject: string | null
  /** The redirection URI of the authorization request, byte for byte. */
  readonly redirectUri: string
  /** The scope granted: names separated by spaces. */
  readonly scope: string
  /** The PKCE S256 challenge (RFC 7636); null if the code was issued without one. */
  readonly codeChallenge: string | null
  /** First millisecond at which the code is no longer accepted. */
  readonly expiresAt: number
  /** When it was exchanged, in milliseconds since the epoch; null while it is unspent. */
  readonly redeemedAt: number | null
}

/**
 * A credential that opens an operation, without its secret.
 *
 * @group Credentials
 */
export interface Credential {
  /** Identifier of the credential itself; safe to log. */
  readonly id: string
  /** Who holds it: the reseller of a reseller token, the client of an access token, the holder of an API key. */
  readonly ownerId: string
  /** On whose behalf it acts: the subject of the code that bought it; null if there is none. */
  readonly subject: string | null
  /** What it permits: exact names separated by spaces. */
  readonly scope: string
  /** When it was created, in milliseconds since the epoch; 0 if unknown. */
  readonly createdAt: number
  /** First millisecond at which it is no longer accepted; null if it does not expire. */
  readonly expiresAt: number | null
  /** When it was revoked, in milliseconds since the epoch; null while it is live. */
  readonly revokedAt: number | null
  /** A label for people; never used to decide anything. */
  readonly name?: string
}

/**
 * An access token to store together with the redemption of its code.
 *
 * @group Credentials
 */
export interface NewAccessToken {
  /** Identifier of the token; safe to log. */
  readonly id: string
  /** The key the token is looked up by, derived from its SHA-256: 32 bytes. */
  readonly hash: Uint8Array
  /** The client of the code. */
  readonly ownerId: string
  /** The subject of the code; null if it has none. */
  readonly subject: string | null
  /** The scope granted: names separated by spaces, `''` for none. */
  readonly scope: string
  /** When it is issued, in milliseconds since the epoch. */
  readonly createdAt: number
  /** First millisecond at which it is no longer accepted. */
  readonly expiresAt: number
}

/**
 * Tells whether a code must be bound to a PKCE challenge, because nothing else ties it to the program that asked for
 * it. A public client has no secret, and any app may claim another's scheme.
 *
 * @see RFC 8252 section 8.1, RFC 9700 section 2.1.1
 */
export function needsChallenge({ clientType }: Client, redirectUri: string): boolean {
  return clientType === 'public' || !/^https?:/i.test(redirectUri)
}

/** Tells whether a credential is neither revoked nor expired. The expiry millisecond itself is too late. */
export function isLive(credential: Credential, now: number): boolean {
  return credential.revokedAt === null && (credential.expiresAt === null || now < credential.expiresAt)
}

/** Says, for the log, why a credential that is not live is refused. */
export function howEnded({ revokedAt }: Credential): string {
  return revokedAt === null ? 'has expired' : 'was revoked'
}

/** The default lifetime of an access token, in seconds. */
export const defaultTokenLifetimeSeconds = 3600

/** Tells whether a scope contains all given names, separated by spaces and compared exactly; `''` names none. */
export function permits(scope: string, names: string): boolean {
  const granted = scope.split(' ')
  return names === '' || names.split(' ').every((name) => granted.includes(name))
}

const scopeName = '[\\x21\\x23-\\x5b\\x5d-\\x7e]+'
const onlyScopeName = new RegExp(`^${scopeName}$`)
const onlyScope = new RegExp(`^(?:${scopeName}(?: ${scopeName})*)?$`)

/** @see RFC 6749 section 3.3 */
export function isScope(text: string): boolean {
  return text.length <= 1024 && onlyScope.test(text)
}

export function isScopeName(text: string): boolean {
  return onlyScopeName.test(text)
}
