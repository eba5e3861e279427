import { execFileSync, spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeBlocks } from '../docs/code-blocks.ts'
import { build, npmEnvironment, packAndInstall, put, type PackedPackage } from './packed.ts'
import {
  countModules,
  firstAnswer,
  importAll,
  serveOnce,
  typedConsumer,
  watchHandles,
  watchImports,
} from './programs.ts'
import { freePort } from '../support/free-port.ts'

// The package as strangers get it: packed, installed into an empty project, and used from there.

const bin = join(import.meta.dirname, '../../node_modules/.bin')
let packed: PackedPackage

beforeAll(() => {
  packed = packAndInstall()
}, 180_000)

afterAll(() => packed.remove(), 60_000)

function inProject(command: string, ...args: string[]): SpawnSyncReturns<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', NO_COLOR: '1' }
  return spawnSync(command, args, { cwd: packed.project, env, encoding: 'utf8' })
}

function program(name: string, text: string): string {
  return put(packed.project, name, text)
}

test('the tarball has the build, the documents and the examples, and nothing else', () => {
  const kinds = {
    build: /^dist\/(?:[\w./-]+\.(?:js|d\.ts)|dev\.html|bundled-licenses\.txt|sbom\.cdx\.json)$/,
    papers:
      /^(?:[A-Z]+\.md|LICENSE|llms\.txt|package\.json|skills\/utility-api\/SKILL\.md|docs\/(?:(?:guide|operations|diagrams)\/)?[\w-]+\.(?:md|svg|webp))$/,
    examples: /^examples\/(?:README\.md|[\w-]+\/(?![\w-]+\.test\.ts)[\w.-]+)$/,
  }
  const others = packed.paths.filter((path) => !Object.values(kinds).some((kind) => kind.test(path)))
  expect(others).toEqual([])
  for (const kind of Object.values(kinds))
    expect(packed.paths.filter((path) => kind.test(path)).length).toBeGreaterThan(10)
})

test('every link to a file leads somewhere from there, too', () => {
  const folder = join(packed.project, 'node_modules/utility-api')
  const pages = packed.paths.filter((path) => path.endsWith('.md'))
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/guide/start.md', 'examples/README.md']))
  const links = pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(
      ([, target = '']) => ({ page, target }),
    ),
  )
  expect(links.length).toBeGreaterThan(100)
  const broken = links.filter(({ page, target }) => !existsSync(join(folder, page, '..', target)))
  expect(broken).toEqual([])
})

test('npm corrects nothing in its package.json', () => {
  const folder = join(packed.folder, 'corrected')
  for (const name of ['package.json', 'dist/cli.js'])
    cpSync(join(packed.folder, 'source', name), join(folder, name), { recursive: true })
  const { status } = spawnSync('npm', ['pkg', 'fix'], { cwd: folder, env: npmEnvironment() })
  expect(status).toBe(0)
  const texts = [folder, join(packed.folder, 'source')].map((each) =>
    readFileSync(join(each, 'package.json'), 'utf8'),
  )
  expect(texts[0]).toBe(texts[1])
})

test('publint reports nothing', () => {
  const { status, stdout, stderr } = inProject(join(bin, 'publint'), '--strict', packed.tarball)
  expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' })
})

test('its types resolve in every mode that ESM-only packages have', () => {
  const { status, stdout } = inProject(
    join(bin, 'attw'),
    packed.tarball,
    '--profile',
    'esm-only',
    '--no-color',
  )
  expect({ status, said: status === 0 ? '' : stdout }).toEqual({ status: 0, said: '' })
}, 60_000)

interface Runtime {
  readonly name: string
  /** The command line before the program's name; null where the runtime is not here. */
  readonly command: () => readonly string[] | null
}

const runtimes: Runtime[] = [
  { name: `Node ${process.versions.node}`, command: () => [process.execPath] },
  { name: 'Node 22.18', command: () => download('node', '22.18.0') },
  { name: 'Bun', command: () => [join(bin, 'bun'), 'run'] },
  { name: 'Deno', command: () => download('deno', '2', 'run', '--allow-all') },
]

/** Runtimes that are not here are downloaded on demand only: `TEST_RUNTIMES=node,deno`. */
function download(name: string, version: string, ...args: string[]): readonly string[] | null {
  if (!(process.env['TEST_RUNTIMES'] ?? '').split(',').includes(name)) return null
  const folder = join(packed.project, '..', `${name}-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(folder)
    put(folder, 'package.json', `{ "private": true, "allowScripts": { "${name}": true } }`)
    execFileSync('npm', ['install', '--no-audit', '--no-fund', `${name}@${version}`], { cwd: folder })
  }
  return [join(folder, 'node_modules/.bin', name), ...args]
}

describe.for(runtimes)('$name', ({ name, command }) => {
  function run(file: string): SpawnSyncReturns<string> | null {
    const line = command()
    if (line === null) {
      console.warn(`Skipped: ${name} is run only with TEST_RUNTIMES=node,deno.`)
      return null
    }
    const [executable = '', ...args] = line
    return inProject(executable, ...args, file)
  }

  test('imports every entry', ({ skip }) => {
    const result = run(program('import-all.mjs', importAll(packed.entries)))
    if (result === null) return skip()
    expect(result).toMatchObject({ status: 0, stderr: '' })
    expect(Object.keys(JSON.parse(result.stdout) as object)).toEqual(packed.entries)
  }, 120_000)

  test('serves a request', ({ skip }) => {
    const result = run(program('serve-once.mjs', serveOnce))
    if (result === null) return skip()
    expect(result).toMatchObject({ status: 0, stdout: '200 Ada\n', stderr: '' })
  }, 120_000)
})

test('importing changes no global, opens no handle and prints nothing', () => {
  const { status, stdout, stderr } = inProject(
    process.execPath,
    program('watch-imports.mjs', watchImports(packed.entries)),
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toEqual({
    // zod keeps its registry there, so that several copies of it find each other.
    new: ['__zod_globalConfig', '__zod_globalRegistry'],
    sameListeners: true,
    sameEnvironment: true,
    replaced: [],
    samePrototypes: true,
    handles: [],
  })
})

test('importing an entry leaves standard input to the program', () => {
  // The testing entry loads the global Request, for which Node opens it.
  const entries = packed.entries.filter((entry) => entry !== 'utility-api/testing')
  const opened = entries.map((entry) => [
    entry,
    inProject(process.execPath, program('watch-handles.mjs', watchHandles(entry))).stdout,
  ])
  expect(opened).toEqual(entries.map((entry) => [entry, '[]\n']))
})

test('a start reads few files, and none of another package', () => {
  const loaded = (text: string): string[] => {
    const { stdout, stderr } = inProject(process.execPath, program('count-modules.mjs', text))
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as string[]).map((url) => url.replace(/^.*\/node_modules\//, ''))
  }
  const requirePaths = (text: string, most: number): void => {
    const all = loaded(countModules(text))
    expect(all.filter((path) => !path.startsWith('utility-api/dist/'))).toEqual([])
    expect(all.length).toBeGreaterThan(1)
    expect(all.length).toBeLessThanOrEqual(most)
  }
  const command = (...args: string[]): string =>
    `process.argv.push(...${JSON.stringify(args)})
console.log = () => {}
await import(import.meta.resolve('utility-api').replace('index.js', 'cli.js'))`
  requirePaths(command('--help'), 8)
  requirePaths(command('dns', '--help'), 9)
  requirePaths("await import('utility-api')", 12)
  requirePaths(firstAnswer, 15)
})

test('what is bundled has its license beside it, and is in the bill of materials', () => {
  const read = (path: string): string =>
    readFileSync(join(packed.project, 'node_modules/utility-api', path), 'utf8')
  // The bundler names each file above its code.
  const code = packed.paths.filter((path) => /^dist\/.*\.js$/.test(path)).map(read)
  const files = code.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//gm)])
  const names = [...new Set(files.map(([, name]) => name))].toSorted()
  expect(names).toEqual(['@leichtgewicht/ip-codec', 'dns-packet', 'zod'])
  const licenses = read('dist/bundled-licenses.txt')
  const bill = JSON.parse(read('dist/sbom.cdx.json')) as { components: { purl: string }[] }
  const versions = [...licenses.matchAll(/^(\S+) (\d+\.\d+\.\d+)\n\n.*License/gm)]
  expect(versions.map(([, name]) => name).toSorted()).toEqual(names)
  expect(bill.components.map(({ purl }) => purl)).toEqual(
    versions.map(([, name, version]) => `pkg:npm/${name?.replace('@', '%40')}@${version}`),
  )
})

test('it is built the same, octet for octet, at another place', () => {
  const again = join(packed.folder, 'again')
  build(again)
  const installed = join(packed.project, 'node_modules/utility-api/dist')
  const paths = globSync('**/*.*', { cwd: installed })
  expect(paths.length).toBeGreaterThan(10)
  expect(globSync('**/*.*', { cwd: again })).toEqual(paths)
  const differing = paths.filter(
    (path) => !readFileSync(join(installed, path)).equals(readFileSync(join(again, path))),
  )
  expect(differing).toEqual([])
})

test('a bundler makes an ES module of it that runs', () => {
  const file = program(
    'to-bundle.mjs',
    "import { createUtilityApi } from 'utility-api'\nconsole.log(typeof createUtilityApi)",
  )
  const outfile = join(packed.project, 'bundle.mjs')
  const options = ['--bundle', '--format=esm', '--platform=node', `--outfile=${outfile}`]
  expect(inProject(join(bin, 'esbuild'), file, ...options)).toMatchObject({ status: 0 })
  expect(inProject(process.execPath, outfile)).toMatchObject({ status: 0, stdout: 'function\n', stderr: '' })
})

test('a CommonJS program can require it', () => {
  const file = program('require.cjs', "console.log(typeof require('utility-api').createUtilityApi)")
  expect(inProject(process.execPath, file)).toMatchObject({ status: 0, stdout: 'function\n', stderr: '' })
})

test("the README's program makes a license, run as it stands", async () => {
  const block = codeBlocks().find(({ file, language }) => file === 'README.md' && language === 'ts')
  const port = await freePort()
  put(packed.project, 'server.mjs', block?.text.replace('listen(3000', `listen(${port}, '127.0.0.1'`) ?? '')
  const child = spawn(process.execPath, ['server.mjs'], { cwd: packed.project })
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  expect(line).toMatch(/^Listening on http:\/\/localhost:\d+\/api\n$/)
  const [command = ''] = /^npx utility-api reseller create .*$/m.exec(readFileSync('README.md', 'utf8')) ?? []
  const made = inProject('bash', '--norc', '-c', command.replace('npx ', 'node_modules/.bin/'))
  expect(made).toMatchObject({ status: 0 })
  const request = {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${/^token +(\S+)$/m.exec(made.stdout)?.[1]}`,
      'X-Registered-To': 'Ada Lovelace',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    },
  }
  const url = `http://127.0.0.1:${port}/api/v2/reseller/licenses/generate`
  await expect
    .poll(() => fetch(url, request).then(({ status }) => status, String), { timeout: 5000 })
    .toBe(200)
  child.kill()
  await once(child, 'close')
})

test('the command is installed with it', () => {
  expect(inProject('node_modules/.bin/utility-api', '--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  const migrated = inProject('node_modules/.bin/utility-api', 'migrate', '--database', 'try.sqlite')
  expect(migrated).toMatchObject({
    status: 0,
    stdout: 'The database has been brought up to date.\n',
    stderr: '',
  })
})

test('dev serves its page from there', async () => {
  const child = spawn('node_modules/.bin/utility-api', ['dev', '--port', '0'], { cwd: packed.project })
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  const answer = await fetch(/http:\S+/.exec(line)?.[0] ?? '')
  expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
  expect(await answer.text()).toBe(readFileSync('adapters/cli/serving/dev.html', 'utf8'))
  child.kill()
  await once(child, 'close')
})

test('the command runs in Bun, on the SQLite of Bun', () => {
  const cli = 'node_modules/utility-api/dist/cli.js'
  const migrated = inProject(join(bin, 'bun'), 'run', cli, 'migrate', '--database', 'bun.sqlite')
  expect(migrated).toMatchObject({
    status: 0,
    stdout: 'The database has been brought up to date.\n',
    stderr: '',
  })
  const created = inProject(join(bin, 'bun'), 'run', cli, 'api-key', 'create', '--database', 'bun.sqlite')
  expect(created.stdout).toMatch(/^apiKey +uapi_ak_\w+$/m)
})

/** A Node.js that is too old, as machines carry one. */
function olderNode(): string | null {
  const found = spawnSync('which', ['-a', 'node'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
  return (
    [...found, '/usr/bin/node'].find((path) => {
      const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout
      const [major = 99, minor = 0] = (version ?? '').slice(1).split('.').map(Number)
      return major < 22 || (major === 22 && minor < 18)
    }) ?? null
  )
}

describe('on a Node.js that is too old, the error is one clear sentence', () => {
  const old = olderNode()
  if (old === null) console.warn('Skipped: no Node.js older than 22.18 is on the PATH.')
  const sentence = /utility-api needs Node\.js 22\.18 or newer; this is \d+\.\d+\.\d+\./

  test.skipIf(old === null)('when it imports the package', () => {
    const file = program('old.mjs', "import('utility-api').catch((error) => console.log(error.message))")
    expect(inProject(old ?? '', file).stdout).toMatch(sentence)
  })

  test.skipIf(old === null)('when it runs the command', () => {
    const { status, stdout, stderr } = inProject(old ?? '', 'node_modules/utility-api/dist/cli.js', 'migrate')
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/ On Bun: bunx --bun utility-api\.$/m)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})

const strict =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2023 --types node'
const modes: Readonly<Record<string, string>> = {
  nodenext: '--module nodenext --lib es2023,esnext.disposable,dom',
  bundler: '--module esnext --moduleResolution bundler --lib es2023,esnext.disposable,dom',
  'nodenext without the DOM': '--module nodenext --lib es2023,esnext.disposable',
}

/** The compiler of the project, and the last of version 5, which compares the types of drivers differently. */
const compilers: Readonly<Record<string, string>> = {
  6: 'node_modules/.bin/tsc',
  5: join(import.meta.dirname, '../../examples/typed-client/node_modules/typescript/bin/tsc'),
}

describe.for(Object.entries(compilers))('TypeScript %s', ([, compiler]) => {
  test.for(Object.entries(modes))(
    'checks its types under %s, declarations included',
    { timeout: 60_000 },
    ([, mode]) => {
      const file = program('consumer.ts', typedConsumer)
      const { status, stdout } = inProject(compiler, ...`${strict} ${mode}`.split(' '), file)
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
    },
  )
})

test('it exports exactly the listed names', async () => {
  const folder = join(packed.project, 'node_modules/utility-api')
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string }>
  }
  const files = packed.entries.map((entry) =>
    join(folder, exports[entry.replace('utility-api', '.')]?.types ?? ''),
  )
  const compiler = ts.createProgram(files, { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = compiler.getTypeChecker()
  const names = packed.entries.map((entry, at) => {
    const file = compiler.getSourceFile(files[at] ?? '')
    const symbol = file && checker.getSymbolAtLocation(file)
    const exported = symbol === undefined ? [] : checker.getExportsOfModule(symbol)
    return `${entry}\n${exported
      .map(({ name }) => `  ${name}`)
      .toSorted()
      .join('\n')}`
  })
  await expect(`${names.join('\n\n')}\n`).toMatchFileSnapshot('exported-names.txt')
}, 60_000)
