import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import { renderUsage, runCommand, type ArgsDef } from 'citty'
import { UtilityApiError } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { examplesOf, group, UsageError, type AnyCommand } from './command.ts'
import { dns } from './dns.ts'
import { openapi } from './openapi.ts'
import { ping } from './ping.ts'
import { apiKey, client, code, reseller, revoke, token } from './provision.ts'
import { serve } from './serve.ts'
import { license, migrate, purge } from './upkeep.ts'

const program = 'utility-api'
const subCommands: Record<string, AnyCommand> = {
  serve,
  migrate,
  client,
  reseller,
  'api-key': apiKey,
  code,
  token,
  revoke,
  license,
  purge,
  openapi,
  dns,
  ping,
}
const root: AnyCommand = group(
  'OAuth token exchange, reseller licences, DNS check and game server lookup.',
  subCommands,
  [
    'migrate --database utility.sqlite',
    'reseller create --name "Example Hosting" --database utility.sqlite',
    'serve --database utility.sqlite',
    'dns example.com MX',
    'ping play.example.com',
  ],
)

/** Runs one command line. Resolves with the exit code: 0 done, 1 failed, 2 wrong command line. */
export async function run(args: readonly string[]): Promise<number> {
  const { command, path, rest } = find(args)
  if (command === root && args[0] === '--version') {
    console.log(packageVersion())
    return 0
  }
  if (rest.some((arg) => arg === '--help' || arg === '-h') || (args.length === 0 && command === root)) {
    console.log(await helpText(command, path))
    return 0
  }
  try {
    if (command.subCommands !== undefined) throw unknownCommand(path, rest)
    await runCommand(command, { rawArgs: rest })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    console.error(sentenceOf(error))
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

function unknownCommand(path: readonly string[], [word]: readonly string[]): UsageError {
  const said = [program, ...path].join(' ')
  return new UsageError(word === undefined ? `${said} what?` : `There is no command "${said} ${word}".`)
}

async function helpText(command: AnyCommand, path: readonly string[]): Promise<string> {
  const meta = { ...(command.meta as object), name: [program, ...path].join(' ') }
  const usage = (await renderUsage<ArgsDef>({ ...command, meta })).trimEnd()
  const lines = examplesOf(command).map((line) => `  ${program} ${line}`)
  const text = lines.length === 0 ? usage : `${usage}\n\nEXAMPLES\n\n${lines.join('\n')}`
  // The parser colours its help even where nothing shows colours.
  return process.stdout.isTTY ? text : stripVTControlCharacters(text)
}

function packageVersion(): string {
  const require = createRequire(import.meta.url)
  return (require('utility-api/package.json') as { version: string }).version
}

function isUsageError(error: unknown): boolean {
  if (error instanceof UtilityApiError)
    return error.code === 'invalid_argument' || error.code === 'invalid_options'
  // The parser's own class is not exported.
  return error instanceof UsageError || (error as Error).name === 'CLIError'
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const noTables = error instanceof StorageError && error.kind === 'invalid'
  return noTables ? `${error.message}\nTo do so: ${program} migrate` : error.message
}
