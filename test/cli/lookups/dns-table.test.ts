import { stripVTControlCharacters } from 'node:util'
import { summarizeDnsCheck, type DnsCheckResult } from 'utility-api'
import { expect, onTestFinished, test } from 'vitest'
import { sectionLines, type Section } from '../../../adapters/cli/lookups/dns-table.ts'
import { widthOf } from '../../../adapters/cli/terminal/terminal-text.ts'

const note = 'the signature has expired'
const result: DnsCheckResult = {
  location: 'Here',
  ip: '127.0.0.1',
  provider: 'Loopback',
  resolved: false,
  status: 'SERVFAIL',
  latency_ms: 6,
  dns_results: [],
  ede: [{ code: 6, text: note }],
}
const section: Section = {
  type: 'A',
  locations: [result],
  authority: null,
  seen: [result],
  summary: summarizeDnsCheck([result]),
}

/** Sets how wide the terminal is. */
function onTerminalOf(columns: number): void {
  const { isTTY, columns: before } = process.stdout
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns: before }))
  Object.assign(process.stdout, { isTTY: true, columns })
}

function linesWithNote(columns: number): readonly string[] {
  onTerminalOf(columns)
  return sectionLines(section)
    .map((line) => stripVTControlCharacters(line))
    .filter((line) => line.includes(note))
}

test('a row that just fits into the terminal has its notes in the table alone', () => {
  const [row = ''] = linesWithNote(200)
  expect(linesWithNote(widthOf(row))).toEqual([row])
  expect(linesWithNote(widthOf(row) - 1)).toEqual([`Loopback: DNSSEC bogus: ${note}.`])
})
