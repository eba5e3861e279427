import type { ListedCredential } from 'utility-api'
import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin } from '../database/database.ts'
import { grantOptions } from './code.ts'
import { given, oneOf, scopeOf, secondsOf } from '../terminal/option-values.ts'
import { dayText, printSecrets, timeText } from '../terminal/output.ts'
import { pageOptions, printPage, type Columns } from './print-list.ts'

const kinds = { access: 'access_token', reseller: 'reseller_token' } as const

const accessColumns: Columns<ListedCredential> = {
  heading: ['TOKEN', 'OWNER', 'SUBJECT', 'CREATED', 'EXPIRES', 'REVOKED', 'SCOPE'],
  cells: ({ id, ownerId, subject, createdAt, expiresAt, revokedAt, scope }) => [
    id,
    // A token that was created without a client is its own owner.
    ownerId === id ? '' : ownerId,
    subject ?? '',
    timeText(createdAt),
    timeText(expiresAt),
    timeText(revokedAt),
    scope,
  ],
}

// They have neither subject nor scope, and the day of their last use is recorded.
const resellerColumns: Columns<ListedCredential> = {
  heading: ['TOKEN', 'OWNER', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'],
  cells: ({ id, ownerId, createdAt, expiresAt, lastUsedOn, revokedAt }) => [
    id,
    ownerId,
    timeText(createdAt),
    timeText(expiresAt),
    dayText(lastUsedOn),
    timeText(revokedAt),
  ],
}

export const token: AnyCommand = {
  commands: {
    list: command({
      description: 'List tokens without their secrets, oldest first, revoked and expired ones included.',
      args: {
        kind: {
          type: 'string',
          default: 'access',
          valueHint: 'access|reseller',
          description: 'Access tokens, or the tokens of resellers.',
        },
        owner: { type: 'string', valueHint: 'ID', description: "Only this client's or reseller's." },
        ...pageOptions,
        ...adminOptions,
      },
      examples: [
        'token list --owner CLIENT_ID --database utility.sqlite',
        'token list --kind reseller --limit 10 --json',
      ],
      run: ({ kind, owner: ownerId, ...args }) =>
        withAdmin(args, (admin) => {
          const wanted = { kind: kinds[oneOf('kind', kind, ['access', 'reseller'])], ...given({ ownerId }) }
          const columns = kind === 'access' ? accessColumns : resellerColumns
          return printPage(
            'credentials',
            args,
            (page) => admin.listCredentials({ ...wanted, ...page }),
            columns,
          )
        }),
    }),

    create: command({
      description: 'Create an access token without a code exchange and print it.',
      args: {
        client: {
          type: 'string',
          valueHint: 'ID',
          description: 'The client it is issued to. Default: none.',
        },
        ...grantOptions,
        lifetime: {
          type: 'string',
          default: '3600',
          valueHint: 'TIME',
          description: 'How long it is valid: seconds, or 12h, 90d; at most 365d.',
        },
        ...adminOptions,
      },
      examples: [
        'token create --lifetime 86400 --database utility.sqlite',
        'token create --scope orders:read --client ID --subject user-42 --database utility.sqlite',
      ],
      run: ({ client: clientId, subject, scope, lifetime, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) => {
          const lifetimeSeconds = secondsOf('lifetime', lifetime, 1, 31_536_000)
          const wanted = { scope: scopeOf(scope), lifetimeSeconds, ...given({ clientId, subject }) }
          printSecrets(await admin.createAccessToken(wanted), json)
        }),
    }),
  },
  examples: ['token list', 'token create --scope orders:read --subject user-42'],
}
