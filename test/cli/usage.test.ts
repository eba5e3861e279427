import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from './support/cli.ts'
import { runHere as run } from './support/cli-here.ts'

const folder = temporaryFolder()
const missing = join(folder.path, 'none.sqlite')
const empty = join(folder.path, 'empty.sqlite')
const migrated = join(folder.path, 'migrated.sqlite')
new DatabaseSync(empty).close()
const signingKey = keyFile('signing.pem', generateKeyPairSync('ed25519').privateKey)
const rsaKey = keyFile('rsa.pem', generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)
const host = ['--domain-or-ip', 'a.example']
const newLicense = ['license', 'create', '--reseller', 'x', '--registered-to', 'A', ...host]
const newCode = ['code', 'issue', '--client', 'x', '--redirect-uri', 'https://a.example/']

function onDatabase(args: readonly string[]): string[] {
  return [...args, '--database', migrated]
}

function signAs(issuer: string): string[] {
  return ['license', 'sign', 'LIC-1', '--issuer', issuer, '--lifetime', '7d', '--signing-key', signingKey]
}

function keyFile(name: string, key: KeyObject): string {
  const file = join(folder.path, name)
  writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  return file
}

beforeAll(() => run(['migrate', '--database', migrated]))
afterAll(() => folder.remove())

type Table = Readonly<Record<string, { readonly args: readonly string[]; readonly says: string }>>

const wrong: Table = {
  'an unknown command': { args: ['clients'], says: 'There is no command "utility-api clients".' },
  'a misspelled flag of the program': {
    args: ['--hepl'],
    says: 'There is no option --hepl here. Did you mean --help?',
  },
  'a flag of a group': { args: ['license', '--json'], says: 'There is no option --json here.' },
  'help on more than a command': { args: ['help', 'dev', 'extra'], says: '"extra" is one word too many.' },
  'an option with the name of a word': {
    args: ['dns', 'shop.example', '--type=TXT'],
    says: 'There is no option --type here.',
  },
  'an option with the name of a word, beside the word': {
    args: ['license', 'delete', '--key=KEY-A', 'KEY-B', '--database', empty],
    says: 'There is no option --key here.',
  },
  'an option of every object': {
    args: ['client', 'list', '--__proto__=x'],
    says: 'There is no option --__proto__',
  },
  'a value of an option that has none': {
    args: ['serve', '--no-openapi=yes'],
    says: '--no-openapi has no value.',
  },
  'half a command': {
    args: ['client'],
    says: 'Which client command? list, create, update, rotate, revoke.\n',
  },
  'an option of the program, mistyped': {
    args: ['--versoin'],
    says: 'There is no option --versoin here. Did you mean --version?',
  },
  'an option that a group has not': {
    args: ['license', '--versoin'],
    says: 'There is no option --versoin here.\n',
  },
  'an unknown option': { args: ['serve', '--prot', '1'], says: 'There is no option --prot here.' },
  'an option without value': { args: ['serve', '--port'], says: '--port needs a value.' },
  'an option with an empty value': { args: ['serve', '--host', ''], says: '--host needs a value.' },
  'an option whose value may be empty, without one': {
    args: ['license', 'get', 'x', '--key-prefix'],
    says: '--key-prefix needs a value.',
  },
  'an option that would change nothing': {
    args: ['openapi', '--key-prefix', 'A-'],
    says: 'There is no option --key-prefix here.',
  },
  'a word too many': { args: ['revoke', 'a', 'b'], says: '"b" is one word too many.' },
  'a missing word': {
    args: ['client', 'create'],
    says: 'REDIRECT_URI is missing.\nFor example: utility-api client create https://',
  },
  'a missing option': {
    args: ['code', 'issue'],
    says: '--client is missing.\nFor example: utility-api code issue --client ID',
  },
  'help for an unknown command': {
    args: ['nonsense', '--help'],
    says: 'There is no command "utility-api nonsense". There are dev, serve, ',
  },
  'help for half a command and a word': {
    args: ['license', 'lst', '-h'],
    says: 'There is no command "utility-api license lst". Did you mean list?',
  },
  'an unknown command after help': {
    args: ['help', 'license', 'nonsense'],
    says: 'There is no command "utility-api license nonsense". There are create, get, ',
  },
  'a bad port': { args: ['serve', '--port', '70000'], says: '--port must be a number from 0 to 65535.' },
  'no database': { args: ['purge'], says: 'Give --database FILE or URL, or set UTILITY_API_DATABASE.' },
  'a database in memory': {
    args: ['migrate', '--database', ':memory:'],
    says: 'A database in memory would end with the command. To try everything: utility-api dev\n',
  },
  'a file as a URI': {
    args: ['migrate', '--database', 'file:x.sqlite'],
    says: '--database takes the path of a file, without "file:".',
  },
  'a file as a URL': {
    args: ['purge', '--database', 'file:///x.sqlite'],
    says: '--database takes the path of a file, without "file:".',
  },
  'another kind of URL': { args: ['purge', '--database', 'redis://x'], says: 'a file' },
  'a password in a URL': {
    args: ['migrate', '--database', 'postgres://me:secret@localhost/db'],
    says: 'Set UTILITY_API_DATABASE to the URL instead.',
  },
  'a password in a query': {
    args: ['migrate', '--database', 'postgresql://me@/db?password=secret'],
    says: 'Set UTILITY_API_DATABASE to the URL instead.',
  },
  'a password in a query, as another driver calls it': {
    args: ['migrate', '--database', 'mysql://me@localhost/db?passwd=secret'],
    says: 'Set UTILITY_API_DATABASE to the URL instead.',
  },
  'a bad redirection URI': {
    args: ['client', 'create', '/callback', '--database', empty],
    says: 'REDIRECT_URI: "/callback" must be an absolute https URI',
  },
  'a command mistyped': { args: ['licence', 'list'], says: '"utility-api licence". Did you mean license?' },
  'half a command mistyped': { args: ['client', 'craete'], says: 'Did you mean create?' },
  'an option mistyped': {
    args: ['migrate', '--databse', 'x'],
    says: 'There is no option --databse here. Did you mean --database?',
  },
  'an option of one letter': { args: ['serve', '-q'], says: 'There is no option -q here.' },
  'a bad prefix to print': {
    args: ['openapi', '--prefix', 'api/'],
    says: '--prefix: must be empty or start',
  },
  'a resolver that is none': {
    args: ['dns', 'a.example', '--server', '300.1.1.1'],
    says: '--server: "300.1.1.1" is not a resolver',
  },
  'a resolver with a bad port': {
    args: ['dns', 'a.example', '--server', '127.0.0.1:99999'],
    says: '--server: "127.0.0.1:99999" is not a resolver',
  },
  'an option spelled as in a program': {
    args: ['serve', '--keyPrefix', 'B-'],
    says: 'There is no option --keyPrefix here. Did you mean --key-prefix?',
  },
  'a value taken away': { args: ['serve', '--no-port'], says: 'There is no option --no-port here.' },
  'a bad log format': { args: ['serve', '--log', 'xml'], says: '--log must be one of line, json, none.' },
  'a bad number of proxies': {
    args: ['serve', '--trust-proxy', 'yes'],
    says: '--trust-proxy must be a number',
  },
  'a bad interval': {
    args: ['dns', 'a.example', '--interval', '0'],
    says: '--interval must be 1 to 3600 seconds, or a time such as 30s or 5m.',
  },
  'a resolver with a zone': {
    args: ['dns', 'a.example', '--server', '2001:db8::1%eth0'],
    says: '--server: "2001:db8::1%eth0" is not a resolver',
  },
  'a second bad record type': {
    args: ['dns', 'a.example', 'A', 'ANY', '--server', '127.0.0.1:9'],
    says: 'TYPE must be one',
  },
  'a bad port to try': { args: ['dev', '--port', 'x'], says: '--port must be a number from 0 to 65535.' },
  'a bad drain time': {
    args: ['serve', '--drain', '1.5'],
    says: '--drain must be 0 to 3600 seconds, or a time such as 30s or 5m.',
  },
  'a drain time that is too long': {
    args: ['serve', '--drain', '2h'],
    says: '--drain must be 0 to 3600 seconds',
  },
  'nobody whose access ends': {
    args: ['revoke-access'],
    says: 'Give either --client, --subject or --reseller.',
  },
  'two whose access ends': {
    args: ['revoke-access', '--client', 'a', '--reseller', 'b'],
    says: 'Give either --client, --subject or --reseller.',
  },
  'nothing to change of a license': {
    args: ['license', 'set', 'LIC-1'],
    says: 'Give --status, --registered-to, --domain-or-ip, --reseller, --reference or --ends.',
  },
  'a statement without a key': {
    args: ['license', 'sign', 'LIC-1', '--issuer', 'x', '--lifetime', '7d'],
    says: '--signing-key is missing.',
  },
  'public keys of none': { args: ['license', 'jwks'], says: '--signing-key is missing.' },
  'a key that is not there': {
    args: ['license', 'jwks', '--signing-key', missing],
    says: '--signing-key must be the name of a file that can be read (ENOENT).',
  },
  'a file that is no key': {
    args: ['license', 'jwks', '--signing-key', empty],
    says: 'The file of --signing-key must have a private key in PEM form, without a passphrase.',
  },
  'a key that cannot sign': {
    args: ['license', 'jwks', '--signing-key', rsaKey],
    says: '--signing-key: must be an Ed25519 key, and is of the type rsa',
  },
  'a short spelling of an address': { args: ['ping', '127.1'], says: '"127.1" is not an address' },
  'a bad game address': { args: ['ping', 'https://a.example/'], says: 'is not an address' },
  'a bad domain': { args: ['dns', 'not a name', '--server', '127.0.0.1:9'], says: 'NAME must be' },
  'a URL in place of a domain': {
    args: ['dns', 'https://a.example/', '--server', '127.0.0.1:9'],
    says: 'NAME must be a domain name, not a URL',
  },
  'a bad record type': {
    args: ['dns', 'a.example', 'ANY', '--server', '127.0.0.1:9'],
    says: 'TYPE must be one',
  },
}

const wrongOnDatabase: Table = {
  'a bad prefix to serve': {
    args: ['serve', '--prefix', 'api'],
    says: '--prefix: must be empty or start with a slash',
  },
  'a bad scope': { args: ['token', 'create', '--scope', 'a"b'], says: '--scope must be' },
  'bad permissions': { args: ['api-key', 'create', '--permissions', 'a b'], says: '--permissions must be' },
  'a bad page mark': {
    args: ['license', 'list', '--after', 'nonsense'],
    says: '--after: "nonsense" is not a place where a list ended.',
  },
  'an option given twice': {
    args: ['revoke-access', '--subject', 'one', '--subject=two'],
    says: '--subject is given twice.',
  },
  'an option in the place of a value': {
    args: ['reseller', 'create', '--name', '--json'],
    says: '--name needs a value; write one that begins with "-" after a "=".',
  },
  'bad statuses': {
    args: ['serve', '--statuses', 'a b'],
    says: '--statuses: must be 1 to 64 visible ASCII characters.',
  },
  'a bad key prefix': {
    args: ['license', 'get', 'x', '--key-prefix', 'ä'],
    says: '--key-prefix: must have at most 64',
  },
  'a code that would live too long': {
    args: [...newCode, '--lifetime', '30m'],
    says: '--lifetime must be 1 to 600 seconds, or a time such as 30s or 5m.',
  },
  'scopes of a token with a comma': {
    args: ['token', 'create', '--scope', 'dns:check,orders:read'],
    says: '--scope takes names separated by spaces: --scope "dns:check orders:read".',
  },
  'scopes of a code with a comma': {
    args: [...newCode, '--scope', 'a, b'],
    says: '--scope takes names separated by spaces: --scope "dns:check orders:read".',
  },
  'a bad kind of token': {
    args: ['token', 'list', '--kind', 'client'],
    says: '--kind must be one of access, reseller.',
  },
  'a bad subject': {
    args: ['revoke-access', '--subject', 'a b'],
    says: '--subject must be 1 to 255 visible ASCII characters.',
  },
  'nothing to change of a client': {
    args: ['client', 'update', 'x'],
    says: 'Give --name or redirection URIs.',
  },
  'a status that licenses do not have': {
    args: ['license', 'set', 'LIC-1', '--status', 'odd'],
    says: '--status must be one of those in the option statuses: valid, invalid.',
  },
  'an id that can be none': {
    args: ['reseller', 'token', 'a b'],
    says: 'The id of a reseller must be 1 to 255',
  },
  'all, and only some': {
    args: ['license', 'list', '--all', '--limit', '5'],
    says: 'Give either --all or --limit.',
  },
  'a domain that is none': {
    args: ['license', 'list', '--domain', 'https://a.example/'],
    says: '--domain must be a host name or an IP address, without scheme, port or path.',
  },
  'a lifetime that ends at once': {
    args: ['api-key', 'create', '--lifetime', '0d'],
    says: '--lifetime must be 1 to 315360000 seconds, or a time such as 30s, 5m, 12h or 90d.',
  },
  'a lifetime that is too long': {
    args: ['token', 'create', '--lifetime', '366d'],
    says: '--lifetime must be 1 to 31536000 seconds,',
  },
  'a lifetime in months': {
    args: ['reseller', 'token', 'x', '--lifetime', '3M'],
    says: '--lifetime must be',
  },
  'a license without its host': {
    args: ['license', 'create', '--reseller', 'x', '--registered-to', 'Ada'],
    says: '--domain-or-ip is missing.',
  },
  'a bad reference': {
    args: [...newLicense, '--reference', 'a b'],
    says: '--reference must be 1 to 255 visible ASCII characters.',
  },
  'a day that no month has': {
    args: [...newLicense, '--ends', '2027-02-30'],
    says: '--ends must be a date or a time, such as 2027-01-31 or 2027-01-31T12:00Z.',
  },
  'a time on a day that no month has': {
    args: [...newLicense, '--ends', '2027-02-30T12:00+02:00'],
    says: '--ends must be a date or a time, such as 2027-01-31 or 2027-01-31T12:00Z.',
  },
  'an issuer that is none': { args: signAs('a b'), says: '--issuer' },
  'an audience that is none': {
    args: [...signAs('x'), '--audience', 'a b'],
    says: '--audience must be 1 to 255 visible ASCII characters, and a URI if it has a colon.',
  },
}

test.for([
  ...Object.entries(wrong),
  ...Object.entries(wrongOnDatabase).map(
    ([name, { args, says }]) => [name, { args: onDatabase(args), says }] as const,
  ),
])('%s ends with code 2 and says what is wrong', async ([, { args, says }]) => {
  const { code, stdout, stderr } = await run(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(says)
  expect(stderr).toMatch(/^For help: utility-api.* --help$/m)
  expect(stderr).not.toMatch(/secret@|=secret| {4}at |migrate$/m)
})

const unknown: Table = {
  'a code of nobody': { args: newCode, says: 'There is no live client "x".\n' },
  'an access token for nobody': {
    args: ['token', 'create', '--client', 'x'],
    says: 'There is no live client "x".\n',
  },
  'a secret for nobody': { args: ['client', 'rotate', 'x'], says: 'There is no confidential client "x".\n' },
  'a name for nobody': { args: ['client', 'update', 'x', '--name', 'X'], says: 'There is no client "x".\n' },
  'the end of the access of nobody': {
    args: ['revoke-access', '--client', 'nope'],
    says: 'There is no client "nope".\n',
  },
  'the end of the tokens of nobody': {
    args: ['revoke-access', '--reseller', 'nope'],
    says: 'There is no reseller "nope".\n',
  },
  'a license of nobody': { args: newLicense, says: 'There is no reseller "x".\n' },
  'a statement of no license': { args: signAs('x'), says: 'There is no license with this key.\n' },
  'a token for nobody': { args: ['reseller', 'token', 'x'], says: 'There is no reseller "x".\n' },
}

test.for(Object.entries(unknown))(
  '%s ends with code 1: the command line is right',
  async ([, { args, says }]) => {
    const outcome = await run(onDatabase(args))
    expect(outcome).toEqual({ code: 1, stdout: '', stderr: says })
  },
)

test.for([
  [':memory:', 'A database in memory would end with the command.'],
  ['file:x.sqlite', 'UTILITY_API_DATABASE takes the path of a file, without "file:".'],
  ['sqlite:x.sqlite', 'UTILITY_API_DATABASE takes the path of a file, without "sqlite:".'],
  ['SQLite3:///x.sqlite', 'UTILITY_API_DATABASE takes the path of a file, without "sqlite3:".'],
])('%s in the environment is refused, too, and no file gets this name', async ([name = '', says]) => {
  const { code, stderr } = await run(['migrate'], { UTILITY_API_DATABASE: name })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says ?? '') })
  expect(existsSync(name)).toBe(false)
})

test('a signing key that was pasted in the place of its file is not printed', async () => {
  const pem = readFileSync(signingKey, 'utf8')
  for (const secret of [pem, pem.split('\n')[1] ?? '']) {
    const { code, stdout, stderr } = await run(['license', 'jwks', '--signing-key=' + secret])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^--signing-key must be the name of a file that can be read \(\w+\)\.\n/)
    expect(stderr).not.toContain(pem.split('\n')[1])
  }
})

test('a missing database is not created by accident', async () => {
  const { code, stderr } = await run(['purge', '--database', missing])
  expect(code).toBe(1)
  expect(stderr).toBe(
    `There is no file ${missing}. To create it: utility-api migrate --database ${missing}\n`,
  )
  expect(existsSync(missing)).toBe(false)
})

test('the error for a database without tables says what to run', async () => {
  const { code, stderr } = await run(['purge', '--database', empty])
  expect(code).toBe(1)
  expect(stderr).toContain(`To do so: utility-api migrate --database ${empty}\n`)
})

const commands = [
  [],
  ['dev'],
  ['serve'],
  ['migrate'],
  ['client'],
  ['client', 'list'],
  ['client', 'create'],
  ['client', 'update'],
  ['client', 'rotate'],
  ['client', 'revoke'],
  ['reseller'],
  ['reseller', 'list'],
  ['reseller', 'create'],
  ['reseller', 'token'],
  ['api-key'],
  ['api-key', 'list'],
  ['api-key', 'create'],
  ['code'],
  ['code', 'issue'],
  ['token'],
  ['token', 'list'],
  ['token', 'create'],
  ['revoke'],
  ['revoke-access'],
  ['license'],
  ['license', 'get'],
  ['license', 'set'],
  ['license', 'delete'],
  ['license', 'create'],
  ['license', 'list'],
  ['license', 'count'],
  ['license', 'sign'],
  ['license', 'jwks'],
  ['purge'],
  ['openapi'],
  ['dns'],
  ['ping'],
  ['help'],
  ['version'],
]

test('every command has help with examples, in plain text without a terminal', async () => {
  for (const words of commands) {
    const { code, stdout, stderr } = await run([...words, '--help'])
    const line = ['utility-api', ...words].join(' ')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^USAGE ${line}(?: |$)`, 'm'))
    expect(stdout).not.toContain('\u001b')
    const [, examples = ''] = stdout.trimEnd().split('EXAMPLES\n\n')
    for (const example of examples.split('\n')) expect(example).toMatch(new RegExp(`^ {2}${line}(?: \\S|$)`))
  }
})

test('the examples have nothing that a shell changes, such as an unquoted [, but redirections', async () => {
  for (const words of commands) {
    const { stdout } = await run([...words, '--help'])
    const [, examples = ''] = stdout.split('EXAMPLES')
    expect(examples.replaceAll(/"[^"$`\\!]*"/g, '')).toMatch(/^[\w\s:/.,=@<>~-]+$/)
  }
})

test.each([80, 40])('no line of help but examples is wider than %i columns', async (width) => {
  const before = process.stdout.columns
  process.stdout.columns = width
  for (const words of commands) {
    const { stdout } = await run([...words, '--help'])
    const [text = ''] = stdout.split('EXAMPLES')
    expect(text.split('\n').filter((line) => line.length > width)).toEqual([])
  }
  process.stdout.columns = before
})

test('every argument, option and command in the help is described', async () => {
  const before = process.stdout.columns
  process.stdout.columns = 100
  for (const words of commands) {
    const { stdout } = await run([...words, '--help'])
    const [text = ''] = stdout.split('EXAMPLES')
    const [, ...sections] = text.split(/^(?:ARGUMENTS|OPTIONS|COMMANDS)$/m)
    const rows = sections.join('').match(/^ {2}\S.*/gm) ?? []
    expect(rows.length > 0, words.join(' ')).toBe(words[0] !== 'version')
    for (const row of rows) expect(row).toMatch(/^ {2}\S.*? {2,}(?!Default:|Required\.)\S/)
  }
  process.stdout.columns = before
})

test('help shows the help of a command, and of all', async () => {
  expect(await run(['help'])).toEqual(await run(['--help']))
  expect(await run(['help', 'license', 'list'])).toEqual(await run(['license', 'list', '-h']))
})

test('the help of a command on a database says where its driver comes from', async () => {
  const { stdout } = await run(['migrate', '--help'])
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('then in the folder that UTILITY_API_DRIVERS names')
})

test.for(['version', '--version', '-v'])('%s prints the version', async (flag) => {
  expect(await run([flag])).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  })
})

test('the error for a file that is not a database names it', async () => {
  const file = join(folder.path, 'notes.txt')
  writeFileSync(file, 'Nothing that SQLite could have written, and long enough to tell.')
  for (const command of ['migrate', 'purge']) {
    const { code, stderr } = await run([command, '--database', file])
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${file}: file is not a database\n` })
  }
})

test('the error for a database that SQLite cannot write names it', async () => {
  const file = join(folder.path, 'locked.sqlite')
  await run(['migrate', '--database', file])
  const other = new DatabaseSync(file)
  // As a file that was made read-only: whoever may do anything is not stopped by the mode of a file.
  other.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON utility_api_resellers BEGIN SELECT RAISE(FAIL, 'attempt to write a readonly database'); END",
  )
  other.close()
  const { code, stderr } = await run(['reseller', 'create', '--database', file])
  expect({ code, stderr }).toEqual({ code: 1, stderr: `${file}: attempt to write a readonly database\n` })
})

test('typed text that a message repeats does not control the terminal', async () => {
  const { stderr } = await run(['ping', 'a\u001b[2Jb'])
  expect(stderr).toContain(String.raw`"a\u001b[2Jb" is not an address`)
})

test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
  'a file that can only be read is named',
  async () => {
    const file = join(folder.path, 'readonly.sqlite')
    await run(['migrate', '--database', file])
    chmodSync(file, 0o444)
    const { code, stderr } = await run(['reseller', 'create', '--database', file])
    expect(code).toBe(1)
    expect(stderr).toMatch(new RegExp(`^Cannot open ${file}: EACCES`))
  },
)

test('openapi prints the document, with its prefix and the statuses of licenses', async () => {
  const { stdout } = await run(['openapi', '--prefix', '/api', '--statuses', 'valid,suspended'])
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/api' }] })
  expect(stdout).toContain('"suspended"')
})

test('without better-sqlite3 at hand it uses the SQLite of Node', () => {
  // A resolver that knows no better-sqlite3, as in a project that never installed it.
  const hide = `import { Module } from 'node:module'
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...rest) => {
      if (name === 'better-sqlite3') throw new Error('hidden')
      return resolve(name, ...rest)
    }`
  const file = join(folder.path, 'node.sqlite')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(hide)}`,
      '--import',
      './test/support/sources.ts',
      'adapters/cli/main.ts',
      'migrate',
      '--database',
      file,
    ],
    { encoding: 'utf8' },
  )
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: 'The database has been brought up to date.\n',
    stderr: '',
  })
})
