import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Binaries } from './binaries.ts'

/** Settings of `postgres`, by name. */
export type Settings = Readonly<Record<string, string | number>>

const always: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  wal_keep_size: '512MB',
  // The default of 5 s is the time that a standby takes to look for its new primary.
  wal_retrieve_retry_interval: '100ms',
}

/** Servers that run; what is left of them when the program ends is killed. */
const running: Set<PostgresNode> = new Set()
process.on('exit', () => {
  for (const node of running) node.signal('SIGKILL')
})

/** One PostgreSQL server. */
export class PostgresNode {
  readonly name: string
  readonly port: number
  readonly directory: string
  readonly #binaries: Binaries
  #process: ChildProcess | undefined

  constructor(binaries: Binaries, name: string, directory: string, port: number) {
    this.#binaries = binaries
    this.name = name
    this.directory = directory
    this.port = port
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start(settings: Settings): Promise<void> {
    const all = Object.entries({ ...always, ...settings, port: this.port })
    const options = all.flatMap(([name, value]) => ['-c', `${name}=${value}`])
    running.add(this)
    for (let attempt = 0; attempt < 600; attempt += 1) {
      // It ends at once while processes of a crash before still hold its memory.
      if (this.#process?.exitCode !== null) this.#process = this.#spawn(options)
      try {
        await this.query('SELECT 1')
        return
      } catch {
        await sleep(50)
      }
    }
    throw new Error(`The node ${this.name} did not start: see ${this.name}.log.`)
  }

  #spawn(options: readonly string[]): ChildProcess {
    const log = openSync(join(this.directory, '..', `${this.name}.log`), 'a')
    const stdio = ['ignore', log, log] as const
    const child = spawn(this.#binaries.postgres, ['-D', this.directory, ...options], {
      ...this.#binaries.user,
      stdio: [...stdio],
    })
    closeSync(log)
    return child
  }

  /** Rows of SQL on a connection of its own. */
  async query<Row>(sql: string): Promise<Row[]> {
    const client = new Client({
      connectionString: this.url,
      connectionTimeoutMillis: 10_000,
      query_timeout: 20_000,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows as Row[]
    } finally {
      await client.end()
    }
  }

  /** Sends a signal to the server and to all of its processes; they do not share a process group. */
  signal(signal: 'SIGKILL' | 'SIGSTOP'): void {
    const pid = this.#process?.pid
    if (pid === undefined) return
    if (signal === 'SIGKILL') {
      running.delete(this)
      this.#process = undefined
    }
    // Stopped first, so that it starts no other process meanwhile.
    kill(pid, 'SIGSTOP')
    for (const child of childrenOf(pid)) kill(child, signal)
    kill(pid, signal)
  }

  /** Ends it at once with all of its processes, as a crash would; resolves when it is gone. */
  async crash(): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    this.signal('SIGKILL')
    await gone
  }

  /** Ends it as a service manager does. */
  async stop(): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    running.delete(this)
    const gone = new Promise((resolve) => child.once('exit', resolve))
    kill(child.pid ?? 0, 'SIGINT')
    await gone
  }
}

function childrenOf(parent: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid = 0]) => pid)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}
