import { execFile } from 'node:child_process'
import { accessSync, constants, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { runServer } from '../../support/run-server.ts'

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
  try {
    const port = await freePort()
    writeFileSync(join(folder, 'zone'), zoneFile)
    const keygen = ['-r', '/dev/urandom', '-a', 'ECDSAP256SHA256', '-k', origin]
    const { stdout } = await run(program('ldns-keygen'), keygen, { cwd: folder })
    const sign = ['-o', origin, '-f', 'signed', 'zone', stdout.trim()]
    await run(program('ldns-signzone'), sign, { cwd: folder })
    const config = join(folder, 'nsd.conf')
    writeFileSync(config, configuration(folder, ips, port, origin))
    const nsd = await runServer(program('nsd'), ['-d', '-c', config], /nsd started/, undefined)
    return {
      ip: ips[0] ?? '',
      port,
      async [Symbol.asyncDispose]() {
        await nsd.end('SIGTERM')
        removeFolder(folder)
      },
    }
  } catch (error) {
    removeFolder(folder)
    throw error
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
  database: ""
  server-count: 1
  refuse-any: no
remote-control:
  control-enable: no
zone:
  name: ${origin}
  zonefile: signed
`
}

/** Runs dig against a server. */
export function dig(ip: string, port: number, args: readonly string[]): Promise<{ stdout: string }> {
  return run(program('dig'), [`@${ip}`, '-p', String(port), ...args], { maxBuffer: 16 * 1024 * 1024 })
}
