import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { createAdmin } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { codeBlocks } from '../docs/code-blocks.ts'
import { freePort } from '../support/free-port.ts'

// The programs of the page on mounting that are no examples of their own, compiled, started and asked.

const root = join(import.meta.dirname, '../..')
const peers = join(root, 'test/peers')
const sources = join(root, 'test/support/sources.ts')

/** Beside the peers, so that what a program imports is found. */
let folder: string
let token: string
let child: ChildProcessByStdio<null, null, Readable> | undefined

beforeEach(async () => {
  folder = mkdtempSync(join(peers, 'mounting-'))
  const database = new Database(join(folder, 'utility.sqlite'))
  const storage = sqliteStorage(database)
  await storage.migrate()
  ;({ token } = await createAdmin({ storage }).createReseller())
  database.close()
})

afterEach(async () => {
  // While it runs it removes files of its own, and rmSync takes one that is gone for the end of its work.
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit')
    child.kill()
    await exited
  }
  child = undefined
  rmSync(folder, { recursive: true })
})

function programAfter(heading: string, position = 0): string {
  const page = readFileSync(join(root, 'docs/guide/mounting.md'), 'utf8')
  const line = page.split('\n').indexOf(`## ${heading}`)
  const blocks = codeBlocks().filter(
    ({ file, line: at, language }) => file === 'docs/guide/mounting.md' && at > line && language !== 'sh',
  )
  const block = blocks[position]
  if (line < 0 || block === undefined) throw new Error(`The page has no program below "${heading}".`)
  return block.text
}

/** Compiles a program as its project would, and says what is wrong with it. */
function compile(file: string, options: ts.CompilerOptions = {}): string[] {
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: true,
    paths: Object.fromEntries(
      Object.entries(sourcePaths()).map(([name, [path]]) => [name, [join(root, path)]]),
    ),
    ...options,
  })
  const own = program.getSourceFile(file)
  program.emit(own)
  return program
    .getSemanticDiagnostics(own)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

function sourcePaths(): Record<string, [string]> {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: { paths: Record<string, [string]> }
  }
  return compilerOptions.paths
}

const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }

/** Starts a program and asks it for a license; the status of the answer. */
async function ask(file: string, port: number): Promise<number> {
  const started = spawn(process.execPath, ['--import', sources, file], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child = started
  let errors = ''
  started.stderr.on('data', (chunk) => (errors += String(chunk)))
  let status = 0
  const url = `http://127.0.0.1:${port}/api/v2/reseller/licenses/generate`
  await expect
    .poll(
      async () => {
        if (started.exitCode !== null) throw new Error(errors)
        const headers = { Authorization: `Bearer ${token}`, ...fields }
        status = await fetch(url, { method: 'POST', headers }).then((answer) => answer.status)
        return status
      },
      { timeout: 15_000 },
    )
    .toBeGreaterThan(0)
  return status
}

test('the program for node:http', async () => {
  const port = await freePort()
  const file = join(folder, 'server.ts')
  writeFileSync(file, programAfter('Node.js').replace('listen(3000', `listen(${port}`))
  expect(await ask(file, port)).toBe(200)
})

test('the example for Express 5 runs on Express 4', async () => {
  const example = readFileSync(join(root, 'examples/express/server.ts'), 'utf8')
  const text = example.replace("from 'express'", "from 'express4'")
  expect(text).toContain("from 'express4'")
  const file = join(folder, 'server.ts')
  writeFileSync(file, text)
  expect(await ask(file, await freePort())).toBe(200)
})

test('Nest', async ({ skip }) => {
  if (!existsSync(join(peers, 'node_modules/@nestjs/core'))) {
    console.warn('Skipped: Nest is not here (npm ci --prefix test/peers).')
    return skip()
  }
  const port = await freePort()
  const text = programAfter('Nest').replace('listen(3000', `listen(${port}`)
  expect(text).toContain(String(port))
  const guard = join(folder, 'guard.ts')
  writeFileSync(guard, programAfter('Nest', 1))
  // A controller of the reader's own, with the guard and the provider that the page names.
  const controller = `
import { Controller, Get, Req, UseGuards } from '@nestjs/common'
import { OrdersGuard } from './guard.ts'
@Controller('orders')
@UseGuards(OrdersGuard)
class OrdersController {
  @Get()
  list(@Req() request: { grant: { subject: string } }): object {
    return { subject: request.grant.subject }
  }
}
@Module({ controllers: [OrdersController], providers: [{ provide: 'UtilityApi', useFactory: () => api }] })`
  const file = join(folder, 'main.ts')
  writeFileSync(file, text.replace('@Module({})', controller))
  const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true }
  expect([guard, file].flatMap((each) => compile(each, decorators))).toEqual([])
  expect(await ask(join(folder, 'main.js'), port)).toBe(200)

  const database = new Database(join(folder, 'utility.sqlite'))
  const admin = createAdmin({ storage: sqliteStorage(database) })
  const ada = await admin.createAccessToken({ scope: 'orders:read', subject: 'ada' })
  const eve = await admin.createAccessToken({ scope: '', subject: 'eve' })
  database.close()
  const answers = []
  for (const Authorization of ['', `Bearer ${eve.accessToken}`, `Bearer ${ada.accessToken}`]) {
    const response = await fetch(`http://127.0.0.1:${port}/orders`, { headers: { Authorization } })
    answers.push([response.status, await response.json()])
  }
  expect(answers).toEqual([
    [401, expect.objectContaining({ error: 'invalid_token' })],
    [403, expect.objectContaining({ error: 'insufficient_scope' })],
    [200, { subject: 'ada' }],
  ])
})

test('Next, whose route handlers are functions of a request', async () => {
  const route = join(folder, 'app/api/[...path]/route.ts')
  const shared = join(folder, 'lib/api.ts')
  const orders = join(folder, 'app/orders/route.ts')
  const files = [shared, route, orders]
  for (const [at, file] of files.entries()) {
    mkdirSync(join(file, '..'), { recursive: true })
    // As Next resolves the alias of its own projects.
    writeFileSync(
      file,
      programAfter('Next', at).replace("'@/lib/api'", `'${relative(dirname(file), shared)}'`),
    )
  }
  for (const file of files) expect(compile(file, { noEmit: true })).toEqual([])
  const caller = join(folder, 'caller.mjs')
  const url = 'http://localhost:3000/api/v2/reseller/licenses/generate'
  writeFileSync(
    caller,
    `const { GET, POST, PUT } = await import(${JSON.stringify(pathToFileURL(route).href)})
    const headers = ${JSON.stringify({ Authorization: `Bearer ${token}`, ...fields })}
    if (globalThis.utilityApi !== undefined) throw new Error('The database is open before the first request.')
    // Next hands over a second argument, its context.
    const { status } = await POST(new Request('${url}', { method: 'POST', headers }), { params: Promise.resolve({}) })
    const refused = await (await import(${JSON.stringify(pathToFileURL(orders).href)})).GET(new Request('${url}'))
    console.error(status, typeof GET, typeof PUT, refused.status, refused.headers.get('WWW-Authenticate'))`,
  )
  child = spawn(process.execPath, ['--import', sources, caller], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  for await (const chunk of child.stderr) output += String(chunk)
  expect(output).toBe('200 function function 401 Bearer realm="utility-api"\n')
})
