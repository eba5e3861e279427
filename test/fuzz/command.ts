import assert from 'node:assert/strict'
import { program } from '../../adapters/cli/commands.ts'
import { isLikeConnection, locationOf } from '../../adapters/cli/database/location.ts'
import { redactorOf } from '../../adapters/cli/database/redact.ts'
import { questionOf } from '../../adapters/cli/lookups/dns-question.ts'
import { locationsOf } from '../../adapters/cli/lookups/server-option.ts'
import { readArguments } from '../../adapters/cli/terminal/arguments.ts'
import { UsageError } from '../../adapters/cli/terminal/command.ts'
import { findCommand, requireKnown } from '../../adapters/cli/terminal/find-command.ts'
import { dateOf, lifetimeSeconds } from '../../adapters/cli/terminal/option-values.ts'
import { withoutPasswords } from '../../adapters/cli/terminal/passwords.ts'
import { printable, printableLines, widthOf, wrap } from '../../adapters/cli/terminal/terminal-text.ts'
import { texts, type FuzzTarget } from './target.ts'

/** What `read` returns; undefined where it refuses with a sentence that is safe to print. */
function unlessUsage<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const sentence = printableLines(withoutPasswords(error.message))
    assert.equal(printableLines(sentence), sentence)
    return undefined
  }
}

const secret = 'hunter2secret'

export const commandTargets: readonly FuzzTarget[] = [
  {
    name: 'a command line',
    corpus: texts(
      'serve --port 1 --database a.sqlite --no-openapi',
      'license create --reseller x --registered-to=A --domain-or-ip a.example',
      'dns example.com MX --server 192.0.2.1 --server=a=[::1]:53 @192.0.2.2',
      'client create https://a.example/ --name',
      '-v --help -- --x',
    ),
    async check(input) {
      const args = input.toString().split(' ')
      const found = await findCommand(program, args)
      assert.deepEqual([...found.words.slice(1), ...found.rest], args)
      const { command, rest } = found
      assert.equal(typeof command.description, 'string')
      unlessUsage(() => requireKnown(found))
      if (command.commands !== undefined) return
      const read = unlessUsage(() => readArguments(command, rest))
      for (const [name, def] of Object.entries(command.args ?? {})) {
        const value = read?.values[name]
        if (read === undefined || value === undefined) continue
        if (def.type === 'boolean') assert.equal(value, rest.includes(`--${name}`))
        else
          for (const each of [value].flat())
            assert(each === def.default || args.some((arg) => arg.endsWith(String(each))))
      }
    },
  },
  {
    name: 'the value of an option',
    corpus: texts(
      '2027-01-31T12:00Z',
      '2027-02-28',
      '90d',
      '12h',
      'a=[fe80::1%eth0]:53,192.0.2.1',
      'MX example.com @::1',
    ),
    check(input) {
      const text = input.toString()
      const date = unlessUsage(() => dateOf('x', text))
      if (date !== undefined) assert.equal(+date, Date.parse(text))
      const seconds = unlessUsage(() => lifetimeSeconds(text))
      assert(seconds === undefined || Number.isSafeInteger(seconds))
      for (const { ip } of unlessUsage(() => locationsOf(text)) ?? []) assert(text.includes(ip))
      const words = text.split(' ')
      const { name, servers } = questionOf(words)
      assert(words.includes(name) || name === '')
      assert(servers.every((server) => words.includes(`@${server}`)))
      for (const line of wrap(text, 20)) assert(widthOf(line) <= 21, line)
      assert.equal(printable(printable(text)), printable(text))
    },
  },
  {
    name: 'the place of a database',
    corpus: texts(
      'postgres://u:P@host/db?sslmode=x',
      'mariadb://u:P@h:1/d',
      'a.sqlite',
      'host=h password=P',
      'postgres://:P@/x',
      'u:P@h',
    ),
    check(input) {
      // A secret in the place of a password, wherever that is.
      const text = input.toString().replace(/:P@/, `:${secret}@`)
      const location = unlessUsage(() => locationOf(text, 'UTILITY_API_DATABASE'))
      if (location === undefined) return
      if (location.kind === 'sqlite') {
        if (isLikeConnection(text)) assert(!location.name.includes(secret))
        return
      }
      const error = new Error(
        `cannot use ${decodeURIComponent(new URL(text.replace('@/', '@host/')).password)} there`,
      )
      redactorOf(location.url)(error)
      assert(!error.message.includes(secret) || !text.includes(`:${secret}@`), error.message)
    },
  },
]
