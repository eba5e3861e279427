import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chartFile, drawPage, pageFile, readChapters, runsFile } from '../bench/page.ts'
import { comparisonsIn } from '../bench/summary.ts'

test('the summary and the chart are those of the runs; if not: npm run bench -- page', () => {
  const { page, runs, chart } = drawPage(readChapters())
  expect(page).toBe(readFileSync(pageFile, 'utf8'))
  expect(runs).toBe(readFileSync(runsFile, 'utf8'))
  expect(chart).toBe(readFileSync(chartFile, 'utf8'))
})

test('every comparison of the summary is found in each of three runs', () => {
  for (const { work, beside, ratios } of comparisonsIn(readChapters())) {
    expect(ratios, `${work} beside ${beside}`).toHaveLength(3)
    expect(ratios.every(Number.isFinite), `${work} beside ${beside}`).toBe(true)
  }
})
