import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { commandTargets } from './command.ts'
import { dnsTargets } from './dns.ts'
import { gameTargets } from './games.ts'
import { licenseTargets } from './licenses.ts'
import { nameTargets } from './names.ts'
import { randomFrom } from './random.ts'
import { redirectTargets } from './redirects.ts'
import { partTargets } from './request-parts.ts'
import { requestTarget } from './requests.ts'
import type { FuzzTarget } from './target.ts'

export const targets: readonly FuzzTarget[] = [
  ...partTargets,
  requestTarget,
  ...nameTargets,
  ...dnsTargets,
  ...gameTargets,
  ...licenseTargets,
  ...redirectTargets,
  ...commandTargets,
]

function fileOf({ name }: FuzzTarget): URL {
  return new URL(`corpora/${name.replaceAll(' ', '-')}.txt`, import.meta.url)
}

/** What a search has kept, which is what the next one goes on from: an input in base64 on each line. */
export function kept(target: FuzzTarget): Buffer[] {
  const file = fileOf(target)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  return lines.map((line) => Buffer.from(line, 'base64'))
}

export function keep(target: FuzzTarget, inputs: readonly Buffer[]): void {
  writeFileSync(fileOf(target), inputs.map((input) => `${input.toString('base64')}\n`).join(''))
}

/** Throws, or rejects, if something does not hold for an input: each time, or never. */
export async function check(target: FuzzTarget, input: Buffer): Promise<void> {
  // It may be changed.
  await target.check(Buffer.from(input), randomFrom(crc32(input)))
}
