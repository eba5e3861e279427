import type { TextSpan } from '../../domain/server-status.ts'
import { withoutControls } from './clean-text.ts'
import { isSameStyle, spanOf, styleAfterCode, type TextStyle } from './text-style.ts'

/** In code points. */
const maxDescription = 4096
const maxSpans = 1000
// Formatting codes and characters outside the basic plane take two units of a string.
const maxUnits = 2 * maxDescription
const hexadecimalCode = /[xX](?:§[0-9a-fA-F]){6}/y

/** Collects the text of a description in spans, without its formatting codes, and within its bounds. */
export class DescriptionWriter {
  readonly #spans: { text: string; style: TextStyle }[] = []
  #unitsLeft = maxUnits

  /** Whether no more text is taken. */
  get full(): boolean {
    return this.#unitsLeft === 0
  }

  /** Adds the text of a component. */
  write(text: string, ofComponent: TextStyle): void {
    const taken = text.slice(0, this.#unitsLeft)
    this.#unitsLeft -= taken.length
    let style = ofComponent
    let end = 0
    for (let sign = taken.indexOf('§'); sign >= 0; sign = taken.indexOf('§', end)) {
      const code = codeAt(taken, sign + 1)
      this.#add(taken.slice(end, sign), style)
      style = styleAfterCode(code, style, ofComponent)
      end = sign + 1 + code.length
    }
    this.#add(taken.slice(end), style)
  }

  /** Returns the spans: at most 1,000, and at most 4,096 code points in all. */
  end(): TextSpan[] {
    let left = maxDescription
    return this.#spans.flatMap(({ text, style }) => {
      const kept = [...text].slice(0, left)
      left -= kept.length
      return kept.length === 0 ? [] : [spanOf(kept.join(''), style)]
    })
  }

  #add(text: string, style: TextStyle): void {
    const clean = withoutControls(text)
    const last = this.#spans.at(-1)
    if (clean === '') return
    // What exceeds the bound keeps its text, in the style of the last span.
    if (last !== undefined && (isSameStyle(last.style, style) || this.#spans.length === maxSpans))
      last.text += clean
    else this.#spans.push({ text: clean, style })
  }
}

/** Returns the formatting code here: one character, or a hexadecimal color. Empty at the end of the text. */
function codeAt(text: string, index: number): string {
  hexadecimalCode.lastIndex = index
  const [hexadecimal] = hexadecimalCode.exec(text) ?? []
  const point = text.codePointAt(index)
  return hexadecimal ?? (point === undefined ? '' : String.fromCodePoint(point))
}
