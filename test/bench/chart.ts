import type { Comparison } from './summary.ts'

// The picture of the README: one bar for each server, as long as its rate, in groups of one work.

// As narrow as the names allow: on a phone the picture is shrunk to the screen, its text with it.
const [labelWidth, barWidth, valueWidth] = [210, 240, 36]
const [rowHeight, groupGap, headHeight, margin] = [19, 12, 21, 12]

/** Draws rates relative to utility-api's, from its least favorable run. */
export function drawChart(comparisons: readonly Comparison[]): string {
  const groups = Map.groupBy(comparisons, ({ work }) => work)
  const bars = [...groups].map(([work, others]) => ({ work, rows: rowsOf(others) }))
  const longest = Math.max(...bars.flatMap(({ rows }) => rows.map(({ rate }) => rate)))
  const lines: string[] = []
  lines.push(`  <text x="${margin}" y="${margin + 14}">${caption}</text>`)
  let y = margin + headHeight + groupGap
  for (const { work, rows } of bars) {
    lines.push(`  <text class="work" x="${margin}" y="${y + 14}">${escaped(work)}</text>`)
    y += headHeight
    for (const { name, rate } of rows) {
      const length = Math.max(1, Math.round((barWidth * rate) / longest))
      lines.push(
        `  <text x="${margin + labelWidth - 10}" y="${y + 14}" text-anchor="end">${escaped(name)}</text>`,
        `  <rect class="${name === ours ? 'ours' : 'other'}" x="${margin + labelWidth}" y="${y + 3}" width="${length}" height="${rowHeight - 5}" rx="2"/>`,
        `  <text x="${margin + labelWidth + length + 6}" y="${y + 14}">${rate.toFixed(2)}</text>`,
      )
      y += rowHeight
    }
    y += groupGap
  }
  const [width, height] = [2 * margin + labelWidth + barWidth + valueWidth, y - groupGap + margin]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    `  <title id="title">${escaped(spoken(bars))}</title>`,
    `  <style>${style}</style>`,
    `  <rect class="paper" width="${width}" height="${height}" rx="6"/>`,
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}

const ours = 'utility-api'
const caption = `Rate relative to ${ours}: a longer bar is faster`

interface Row {
  readonly name: string
  /** Of utility-api's. */
  readonly rate: number
}

function rowsOf(comparisons: readonly Comparison[]): Row[] {
  const others = comparisons.map(({ beside, ratios }) => ({ name: beside, rate: 1 / Math.min(...ratios) }))
  return [{ name: ours, rate: 1 }, ...others].toSorted((one, other) => other.rate - one.rate)
}

function spoken(bars: readonly { work: string; rows: readonly Row[] }[]): string {
  const groups = bars.map(
    ({ work, rows }) => `${work}: ${rows.map(({ name, rate }) => `${name} ${rate.toFixed(2)}`).join(', ')}`,
  )
  return `${caption}. ${groups.join('. ')}.`
}

const style = [
  'text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}',
  '.work{font-weight:600}',
  '.paper{fill:#fff}.ours{fill:#0969da}.other{fill:#818b98}',
  '@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.ours{fill:#4493f8}.other{fill:#6e7681}}',
].join('')

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
