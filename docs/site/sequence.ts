// Draws sequence diagrams as SVG: no program, no font and no network is needed to show one.

/** Who takes part, from left to right, and what happens, from top to bottom. */
export interface Sequence {
  /** For those who cannot see it. */
  readonly title: string
  readonly participants: readonly string[]
  readonly steps: readonly Step[]
}

type Step =
  | {
      readonly from: string
      readonly to: string
      /** One line each. */
      readonly text: readonly string[]
      readonly isReply?: boolean
    }
  | { readonly over: string; readonly text: readonly string[] }

const columnWidth = 152
const lineHeight = 17
const top = 54
const noteWidth = 148

/**
 * Colors are the page's where there is a page around it. Alone, as an image, it is its own root, and follows the system.
 */
const style = `
svg:root { --color-text: #222; --color-text-aside: #666; --color-accent: #888; --color-link: #1f70c2; --color-background: #fff; --color-background-secondary: #eff0f1; }
@media (prefers-color-scheme: dark) { svg:root { --color-text: #f5f5f5; --color-text-aside: #ddd; --color-link: #00aff4; --color-background: #2b2e33; --color-background-secondary: #1e2024; } }
svg:root { background: var(--color-background); }
.sequence text { font: 12px system-ui, sans-serif; fill: var(--color-text); text-anchor: middle; }
.sequence .name { font-weight: 600; }
.sequence .box { fill: var(--color-background-secondary); stroke: var(--color-accent); }
.sequence .life { stroke: var(--color-accent); stroke-dasharray: 2 4; }
.sequence .arrow { stroke: var(--color-link); stroke-width: 1.5; fill: none; }
.sequence .reply { stroke-dasharray: 6 4; }
.sequence .head { fill: var(--color-link); }
.sequence .mask { fill: var(--color-background); }`

export function drawSequence({ title, participants, steps }: Sequence): string {
  const centerOf = (name: string): number => {
    const at = participants.indexOf(name)
    if (at === -1) throw new Error(`${name} does not take part.`)
    return at * columnWidth + columnWidth / 2
  }
  let y = top + 14
  const drawn = steps.map((step) => {
    const from = y
    y += step.text.length * lineHeight + ('over' in step ? 26 : 18)
    return 'over' in step ? note(centerOf(step.over), from, step.text) : message(step, from, centerOf)
  })
  const width = participants.length * columnWidth
  const height = y + 6
  const lives = participants.map((name) => {
    const x = centerOf(name)
    return `<line class="life" x1="${x}" y1="${top}" x2="${x}" y2="${height}"/>`
  })
  const boxes = participants.map((name) => {
    const x = centerOf(name)
    return `<rect class="box" x="${x - 66}" y="12" width="132" height="36" rx="4"/>${line('name', x, 35, name)}`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" class="sequence" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escaped(title)}</title>
<style>${style}
</style>
${[...lives, ...boxes, ...drawn].join('\n')}
</svg>
`
}

function message(
  { from, to, text, isReply = false }: Extract<Step, { from: string }>,
  y: number,
  centerOf: (name: string) => number,
): string {
  const [start, end] = [centerOf(from), centerOf(to)]
  const direction = Math.sign(end - start)
  const middle = (start + end) / 2
  const at = y + text.length * lineHeight + 4
  const lines = text.map((each, index) => line('', middle, y + (index + 1) * lineHeight - 5, each, true))
  return [
    ...lines,
    `<path class="arrow${isReply ? ' reply' : ''}" d="M${start} ${at}H${end - direction * 8}"/>`,
    `<path class="head" d="M${end} ${at}l${-direction * 9} -4.5v9z"/>`,
  ].join('')
}

function note(center: number, y: number, text: readonly string[]): string {
  const height = text.length * lineHeight + 10
  const box = `<rect class="box" x="${center - noteWidth / 2}" y="${y}" width="${noteWidth}" height="${height}" rx="2"/>`
  return box + text.map((each, index) => line('', center, y + (index + 1) * lineHeight, each)).join('')
}

/** A line of text; what crosses others has the background behind it, so that it can be read. */
function line(kind: string, x: number, y: number, text: string, isMasked = false): string {
  const width = text.length * 6.2
  const mask = isMasked
    ? `<rect class="mask" x="${(x - width / 2).toFixed(1)}" y="${y - 12}" width="${width.toFixed(1)}" height="15"/>`
    : ''
  return `${mask}<text${kind === '' ? '' : ` class="${kind}"`} x="${x}" y="${y}">${escaped(text)}</text>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
