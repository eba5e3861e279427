// Characters that would control the terminal, reverse the line or break it.
const steering = String.raw`\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`
// Characters that nobody sees, so that two different names would look the same: soft hyphens, spaces and marks without a
// width, fillers, tags. Not the joiners of Persian and of emoji.
const invisible = String.raw`\u00ad\u034f\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`
const unprintable = new RegExp(`[${steering}${invisible}]`, 'gu')

/**
 * Makes text that strangers wrote safe to print on one line. Characters that would control the terminal, or that nobody
 * would see, become escapes such as `\u001b`.
 */
export function printable(text: string): string {
  return text.replaceAll(unprintable, escape)
}

/** Does the same, but leaves line feeds as they are. */
export function printableLines(text: string): string {
  return text.replaceAll(unprintable, (character) => (character === '\n' ? '\n' : escape(character)))
}

/** Escapes each unit as JSON does, so that escaped JSON means the same. */
function escape(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/u
const plain = /^[\x20-\x7e…]*$/
// Loading its data takes a quarter of the time of a `--help`.
let graphemes: Intl.Segmenter | undefined

/** Yields what a person sees as one character, and how many terminal columns it takes. */
function* charactersOf(text: string): Generator<{ readonly character: string; readonly width: number }> {
  if (plain.test(text)) {
    for (const character of text) yield { character, width: 1 }
    return
  }
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const { segment: character } of graphemes.segment(text)) {
    const isNothing = /^[\p{M}\p{Cf}]*$/u.test(character)
    yield { character, width: isNothing ? 0 : wide.test(character) ? 2 : 1 }
  }
}

/** Returns how many terminal columns a text takes. */
export function widthOf(text: string): number {
  // Covers most of what is printed, and is a hundred times as fast.
  if (plain.test(text)) return text.length
  let width = 0
  for (const each of charactersOf(text)) width += each.width
  return width
}

/** A limit in code units for this many columns, because characters without a width could go on forever. */
function maxLengthOf(columns: number): number {
  return columns * 4
}

/** Cuts text to at most this many columns. If something is left out, the text ends with `…`. */
export function cut(text: string, columns: number): string {
  const maxLength = maxLengthOf(columns)
  if (text.length <= maxLength && widthOf(text) <= columns) return text
  let kept = ''
  let width = 1
  for (const each of charactersOf(text)) {
    width += each.width
    if (width > columns || kept.length + each.character.length > maxLength) break
    kept += each.character
  }
  return `${kept}…`
}

/** Pads text with spaces to the width of a column. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

const halfCharacter = /[\ud800-\udbff]$/

/**
 * Breaks text at spaces, and breaks words longer than a line anywhere. All lines after the first begin with an indent.
 * Spaces at the start and before a second column are kept.
 */
export function wrap(text: string, columns: number, wantedIndent = ''): string[] {
  // On a line that is narrower than the indent, no text would ever follow it.
  const indent = wantedIndent.length < columns ? wantedIndent : ''
  const lines: string[] = []
  // What is left is never looked at as a whole, or a long text would take time with the square of its length.
  for (let from = 0, prefix = ''; ; prefix = indent) {
    const rest = text.slice(from, from + maxLengthOf(columns))
    const isAll = from + rest.length >= text.length
    const head = prefix + (isAll ? rest : rest.replace(halfCharacter, ''))
    if (isAll && widthOf(head) <= columns) return [...lines, head]
    const { space, end } = breaksOf(head, columns)
    const isAtSpace = space > indent.length && head.slice(0, space).trim() !== ''
    const at = isAtSpace ? space : Math.max(end, indent.length + 1)
    lines.push(head.slice(0, at).trimEnd())
    from += at - prefix.length + (isAtSpace ? 1 : 0)
  }
}

/**
 * Finds where a line of this many columns can end: at its last space (-1 if it has none), and at the latest. The text is
 * wider than that, or goes on.
 */
function breaksOf(text: string, columns: number): { readonly space: number; readonly end: number } {
  let [at, width, space, end, last] = [0, 0, -1, 0, 0]
  for (const each of charactersOf(text)) {
    if (width > columns) break
    if (each.character === ' ') space = at
    last = at
    at += each.character.length
    width += each.width
    if (width <= columns) end = at
  }
  // The last character may go on, too. It stays whole unless it alone takes most of the text.
  return { space, end: end === text.length && last > columns ? last : end }
}
