// Moves the clients and access tokens of oauth2-server into a storage, as docs/guide/from-oauth2-server.md says.
import { createHash, randomUUID } from 'node:crypto'
import { createAdmin } from 'utility-api'
import { callWithin, StorageError, type AdminStorage } from 'utility-api/storage'

type Id = string | number
interface OldClient {
  id: Id
  secret?: string | null
  redirectUris: string[]
}
interface OldToken {
  accessToken?: string | null
  accessTokenExpiresAt?: Date | string | null
  scope?: string | string[] | null
  client?: { id?: Id | null } | null
  user?: { id?: Id | null } | null
}

/** A number may be seconds or milliseconds, and a text without a zone is read in that of this machine: neither is a date. */
function expiryOf(date: unknown): number {
  const isDate = date instanceof Date || (typeof date === 'string' && /(?:Z|[+-]\d\d:?\d\d)$/.test(date))
  return isDate ? new Date(date).getTime() : Number.NaN
}

function needed<Value>(value: Value | null | undefined, name: string): Value {
  if (value === undefined || value === null || Number.isNaN(value)) throw new Error(`it needs ${name}.`)
  return value
}

/** Moves what fits, and prints what does not. */
export async function move(storage: AdminStorage, clients: OldClient[], tokens: OldToken[]): Promise<void> {
  const admin = createAdmin({ storage })
  for (const { id, secret, redirectUris } of clients) {
    const clientId = String(id)
    if ((await storage.findClient(clientId, callWithin(5000))) !== null) continue
    await admin
      .createClient({ clientId, clientSecret: secret ?? '', redirectUris })
      .catch((error) => console.log(`Client ${clientId} is not moved: ${error.message}`))
  }
  for (const [row, token] of tokens.entries()) {
    try {
      await moveToken(storage, token)
    } catch (error) {
      // Storage that is down stops the move; a row that does not fit is named, and the next one follows.
      if (error instanceof StorageError && error.kind !== 'invalid') throw error
      const { message } = error as Error
      console.log(`tokens[${row}], of client ${token.client?.id}, is not moved: ${message}`)
    }
  }
}

async function moveToken(
  storage: AdminStorage,
  { accessToken, accessTokenExpiresAt, scope, client, user }: OldToken,
): Promise<void> {
  const hash = createHash('sha256').update(needed(accessToken, 'accessToken')).digest()
  if ((await storage.findCredential('access_token', hash, callWithin(5000))) !== null) return
  const credential = {
    id: randomUUID(),
    ownerId: String(needed(client?.id, 'client.id')),
    subject: String(needed(user?.id, 'user.id')),
    scope: [scope ?? []].flat().join(' ').split(' ').filter(Boolean).join(' '),
    createdAt: Date.now(),
    expiresAt: needed(
      expiryOf(accessTokenExpiresAt),
      'accessTokenExpiresAt as a Date, or a text with a time zone',
    ),
    revokedAt: null,
  }
  await storage.insertCredential('access_token', hash, credential, callWithin(5000))
}
