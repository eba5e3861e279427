/** Every statement of the contract has tests, and these exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cellsOf, contractStatements } from './contract-statements.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/decisions/contract-tests.md'), 'utf8')
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map(cellsOf)

test('the table has every statement of the contract, in order, and nothing else', () => {
  const listed = rows.map(([section = '', text = '']) => ({ section, text: text.replace('](../', '](') }))
  expect(listed).toEqual(contractStatements())
})

test('only sentences about the page itself have no test', () => {
  const untested = rows.filter(([, , tests]) => tests === '(about the page itself)')
  expect(untested.map(([section]) => section)).toEqual(['', ''])
})

interface Named {
  readonly file: string
  readonly title: string
}

const named: Named[] = rows
  .flatMap(([, , tests = '']) => tests.split('; `').map((each) => each.replace(/^`/, '')))
  .filter((each) => each !== '(about the page itself)')
  .map((each) => {
    const [file = '', title = ''] = each.split('`: ')
    return { file, title }
  })

test.each(named)('there is a test $file: $title', ({ file, title }) => {
  const source = readFileSync(join(root, 'test', `${file}.test.ts`), 'utf8')
  // A title is a text of the source, with what it varies written as `${…}`.
  const parts = title.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  expect(source).toMatch(new RegExp(`['\`]${parts.join('\\$\\{[^}]*\\}')}['\`]`))
})
