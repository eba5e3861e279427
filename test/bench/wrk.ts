/** Load by wrk, where it is installed. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Load, ServerUnderLoad } from './http-load.ts'

export const hasWrk: boolean = isInstalled('wrk')

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`])
    return true
  } catch {
    return false
  }
}

interface WrkReport {
  readonly sent: number
  readonly failed: number
  readonly seconds: number
  readonly latencies: readonly (readonly [microseconds: number, count: number])[]
}

/** Loads by a script of this folder; `argsOf` gets how many requests a server was sent before. */
export function wrkLoad(
  script: string,
  connections: number,
  argsOf: (server: ServerUnderLoad, first: number) => string[],
): Load {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const used = new Map<ServerUnderLoad, number>()
  return async (server, roundMs) => {
    const first = used.get(server) ?? 0
    const seconds = Math.max(1, Math.round(roundMs / 1000))
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', path]
    const args = [...options, `http://127.0.0.1:${server.port}`, '--', ...argsOf(server, first)]
    const { stdout } = await promisify(execFile)('wrk', args, { maxBuffer: 64 * 1024 * 1024 })
    const report = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as WrkReport
    if (report.failed > 0)
      throw new Error(`${server.name}: ${report.failed} requests failed.\n${stdout.slice(0, 1000)}`)
    used.set(server, first + report.sent)
    const took = report.latencies.flatMap(([microseconds, count]) =>
      Array.from({ length: count }, () => microseconds / 1000),
    )
    return { took, seconds: report.seconds }
  }
}

/** Loads each server with its own requests. */
export function requestsLoad(connections: number): Load {
  const directory = mkdtempSync(join(tmpdir(), 'utility-api-wrk-'))
  process.once('exit', () => rmSync(directory, { recursive: true }))
  const files = new Map<ServerUnderLoad, string>()
  const fileOf = (server: ServerUnderLoad): string => {
    const file = files.get(server) ?? join(directory, String(files.size))
    if (!files.has(server)) {
      const lines = server.requests.map((request) => `${request.replaceAll('\r\n', '\x01')}\n`)
      writeFileSync(file, lines.join(''), 'latin1')
    }
    files.set(server, file)
    return file
  }
  return wrkLoad('requests.lua', connections, (server, first) => [fileOf(server), String(first)])
}
