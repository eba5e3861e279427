import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { request as plainRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstLine, run, start } from '../cli/support/cli.ts'
import { codeBlocks } from '../docs/code-blocks.ts'
import { freePort } from '../support/free-port.ts'

// What the page on deployment says of proxies, before a real service: the address that is logged is the client's.

const folder = mkdtempSync(join(tmpdir(), 'utility-api-deployment-'))
const env = { UTILITY_API_DATABASE: join(folder, 'utility.sqlite') }
let service: ChildProcess
let servicePort: number
let log = ''
let proxy: ChildProcess | undefined

beforeAll(async () => {
  await run(['migrate'], env)
  const option = /serve --port 3000 (--trust-proxy \d --log json)/.exec(page())?.[1] ?? ''
  service = start(['serve', '--port', '0', ...option.split(' ')], env)
  service.stderr?.on('data', (chunk) => (log += String(chunk)))
  servicePort = Number(/:(\d+)/.exec((await firstLine(service)).replace('http:', ''))?.[1])
}, 30_000)

afterAll(async () => {
  for (const child of [proxy, service]) {
    child?.kill()
    if (child !== undefined && child.exitCode === null) await once(child, 'close')
  }
  rmSync(folder, { recursive: true })
}, 30_000)

function page(): string {
  return readFileSync('docs/guide/deployment.md', 'utf8')
}

function blockWith(text: string): string {
  const block = codeBlocks().find((each) => each.file.endsWith('/deployment.md') && each.text.includes(text))
  return block?.text.replaceAll('127.0.0.1:3000', `127.0.0.1:${servicePort}`) ?? ''
}

function isHere(command: string): boolean {
  if (spawnSync(command, ['--help']).error === undefined) return true
  console.warn(`Skipped: there is no ${command} here.`)
  return false
}

/** Asks through the proxy, from an address of loopback's that is nobody else's, and pretends to be another. */
function ask(send: typeof request, port: number, path: string): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Forwarded-For': '203.0.113.9', Authorization: 'Bearer wrong' }
    const options = { port, path, headers, localAddress: '127.0.0.2', rejectUnauthorized: false }
    send({ host: '127.0.0.1', method: path === '/health' ? 'GET' : 'POST', ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () =>
        resolve({ text, ...(response.statusCode !== undefined && { status: response.statusCode }) }),
      )
    })
      .on('error', reject)
      .end()
  })
}

async function expectClientAddress(how: typeof request, port: number): Promise<void> {
  log = ''
  await expect
    .poll(() => ask(how, port, '/v2/reseller/licenses/generate').catch(() => null), { timeout: 10_000 })
    .toMatchObject({ status: 401, text: expect.stringContaining('"error":"invalid_token"') })
  const addressOf = (line: string): unknown => (JSON.parse(line) as { address: unknown }).address
  await expect
    .poll(() =>
      log
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map(addressOf)
        .at(-1),
    )
    .toBe('127.0.0.2')
}

test('behind nginx', async ({ skip }) => {
  if (!isHere('nginx') || !isHere('openssl')) return skip()
  const port = await freePort()
  const files = { certificate: join(folder, 'nginx.pem'), key: join(folder, 'nginx.key') }
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=api.example.com -out ${files.certificate} -keyout ${files.key}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  )
  const site = blockWith('proxy_pass')
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('/etc/ssl/api.example.com.pem', files.certificate)
    .replace('/etc/ssl/api.example.com.key', files.key)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  )
  // Its workers are another user's, where it is started by root.
  chmodSync(folder, 0o755)
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${join(folder, 'nginx.pid')}; error_log stderr; events {}
    http { access_log off; ${temporary.join(' ')} ${site} }`,
  )
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { stdio: 'ignore' })
  proxy = child
  await expectClientAddress(request, port)
  // Asked from an address that is not on the list.
  expect(await ask(request, port, '/health')).toMatchObject({ status: 403 })
  child.kill()
  await once(child, 'close')
}, 30_000)

test('behind Caddy', async ({ skip }) => {
  if (!isHere('caddy')) return skip()
  const port = await freePort()
  const site = blockWith('reverse_proxy').replace('api.example.com', `http://127.0.0.1:${port}`)
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${site}\n`)
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: 'ignore',
  })
  proxy = child
  await expectClientAddress(plainRequest as typeof request, port)
  child.kill()
  await once(child, 'close')
}, 30_000)
