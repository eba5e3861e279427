import { createRequire } from 'node:module'
import { runCommand } from 'citty'
import { UtilityApiError } from 'utility-api'
import { group, UsageError, type AnyCommand } from './terminal/command.ts'
import { apiKey } from './provisioning/api-key.ts'
import { client } from './provisioning/client.ts'
import { code } from './provisioning/code.ts'
import { dev } from './serving/dev.ts'
import { dns } from './lookups/dns.ts'
import { sentenceOf, sentenceOnId } from './terminal/error-sentence.ts'
import { helpText } from './terminal/help.ts'
import { license } from './provisioning/license.ts'
import { migrate } from './provisioning/migrate.ts'
import { openapi } from './serving/openapi.ts'
import { ping } from './lookups/ping.ts'
import { purge } from './provisioning/purge.ts'
import { reseller } from './provisioning/reseller.ts'
import { revoke, revokeAccess } from './provisioning/revoke.ts'
import { serve } from './serving/serve.ts'
import { withoutPasswords } from './terminal/passwords.ts'
import { suggestion } from './terminal/suggest.ts'
import { printableLines } from './terminal/terminal-text.ts'
import { token } from './provisioning/token.ts'

export { surviveLostOutput } from './terminal/output.ts'

const program = 'utility-api'
const subCommands: Record<string, AnyCommand> = {
  dev,
  serve,
  migrate,
  client,
  reseller,
  'api-key': apiKey,
  code,
  token,
  revoke,
  'revoke-access': revokeAccess,
  license,
  purge,
  openapi,
  dns,
  ping,
}
const root: AnyCommand = group(
  'OAuth token exchange, reseller licenses, DNS check and game server lookup.',
  subCommands,
  [
    'dev',
    'migrate --database utility.sqlite',
    'reseller create --name "Example Hosting" --database utility.sqlite',
    'serve --database utility.sqlite',
    'dns example.com MX',
    'ping play.example.com',
  ],
)

/**
 * Runs one command line. Resolves with the exit code: 0 done, 1 failed, 2 wrong command line, or one that the command
 * documents.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { command, path, rest } = find(args)
  if (command === root && (args[0] === '--version' || args[0] === '-v')) {
    console.log(packageVersion())
    return 0
  }
  if (rest.some((arg) => arg === '--help' || arg === '-h') || (args.length === 0 && command === root)) {
    console.log(helpText(command, program, path))
    return 0
  }
  try {
    if (command.subCommands !== undefined) throw unknownCommand(command, path, rest)
    await runCommand(command, { rawArgs: rest })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    console.error(printableLines(withoutPasswords(sentenceOf(error))))
    if (!isUsageError(error)) return 1
    console.error(`For help: ${[program, ...path].join(' ')} --help`)
    return 2
  }
}

interface Found {
  readonly command: AnyCommand
  readonly path: string[]
  readonly rest: string[]
}

/** Follows the first words down to the command they name. */
function find(args: readonly string[]): Found {
  let command = root
  const path: string[] = []
  for (const word of args) {
    const next: AnyCommand | undefined = Object.entries(
      (command.subCommands ?? {}) as Record<string, AnyCommand>,
    ).find(([name]) => name === word)?.[1]
    if (next === undefined) break
    command = next
    path.push(word)
  }
  return { command, path, rest: args.slice(path.length) }
}

function unknownCommand(
  { subCommands: known }: AnyCommand,
  path: readonly string[],
  [word]: readonly string[],
): UsageError {
  const said = [program, ...path].join(' ')
  if (word === undefined) return new UsageError(`${said} what?`)
  return new UsageError(
    `There is no command "${said} ${word}".${suggestion(word, Object.keys(known as object))}`,
  )
}

function packageVersion(): string {
  const require = createRequire(import.meta.url)
  return (require('utility-api/package.json') as { version: string }).version
}

function isUsageError(error: unknown): boolean {
  if (error instanceof UtilityApiError) {
    const isArgument = error.code === 'invalid_argument' || error.code === 'invalid_options'
    // Whether a client or a reseller exists is not a question of the command line.
    return isArgument && sentenceOnId(error) === null
  }
  // The parser's own class is not exported.
  return error instanceof UsageError || (error as Error).name === 'CLIError'
}
