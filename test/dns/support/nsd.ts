import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'

const run = promisify(execFile)
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/** Where a program is; undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** A real authoritative server. */
export interface Nsd extends AsyncDisposable {
  readonly ip: string
  readonly port: number
}

/** Signs a zone with a fresh key and serves it with NSD on a free port, of 127.0.0.1 by default. */
export async function startNsd(
  origin: string,
  zoneFile: string,
  ips: readonly string[] = ['127.0.0.1'],
): Promise<Nsd> {
  const folder = mkdtempSync(join(tmpdir(), 'nsd-'))
  const [ip = ''] = ips
  const port = await freePort()
  writeFileSync(join(folder, 'zone'), zoneFile)
  const { stdout } = await run(
    program('ldns-keygen'),
    ['-r', '/dev/urandom', '-a', 'ECDSAP256SHA256', '-k', origin],
    { cwd: folder },
  )
  await run(program('ldns-signzone'), ['-o', origin, '-f', 'signed', 'zone', stdout.trim()], { cwd: folder })
  writeFileSync(join(folder, 'nsd.conf'), configuration(folder, ips, port, origin))
  const nsd = spawn(program('nsd'), ['-d', '-c', join(folder, 'nsd.conf')], { stdio: 'ignore' })
  await waitUntilItAnswers(nsd, ip, port, origin)
  return {
    ip,
    port,
    async [Symbol.asyncDispose]() {
      nsd.kill()
      if (nsd.exitCode === null) await once(nsd, 'exit')
      removeFolder(folder)
    },
  }
}

function program(name: string): string {
  const path = findProgram(name)
  if (path === undefined) throw new Error(`${name} is not installed`)
  return path
}

function configuration(folder: string, ips: readonly string[], port: number, origin: string): string {
  return `
server:
${ips.map((ip) => `  ip-address: ${ip}@${port}`).join('\n')}
  username: ""
  chroot: ""
  zonesdir: "${folder}"
  pidfile: "${folder}/pid"
  xfrdfile: "${folder}/xfrd"
  zonelistfile: "${folder}/zonelist"
  server-count: 1
  refuse-any: no
remote-control:
  control-enable: no
zone:
  name: ${origin}
  zonefile: signed
`
}

async function waitUntilItAnswers(
  nsd: ChildProcess,
  ip: string,
  port: number,
  origin: string,
): Promise<void> {
  for (let left = 50; left > 0; left -= 1) {
    if (nsd.exitCode !== null) throw new Error(`nsd ended with ${nsd.exitCode}`)
    const { stdout } = await dig(ip, port, ['+time=1', '+tries=1', '+short', origin, 'SOA']).catch(() => ({
      stdout: '',
    }))
    if (stdout !== '') return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('nsd does not answer')
}

/** Runs dig against a server. */
export function dig(ip: string, port: number, args: readonly string[]): Promise<{ stdout: string }> {
  return run(program('dig'), [`@${ip}`, '-p', String(port), ...args], { maxBuffer: 16 * 1024 * 1024 })
}
