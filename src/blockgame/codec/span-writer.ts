import type { TextSpan } from '../../domain/server-status.ts'
import { maxDescription, withoutControls } from './clean-text.ts'
import { isSameStyle, styleAfterCode, type TextStyle } from './text-style.ts'

const maxSpans = 1000
// Formatting codes and characters outside the basic plane take two units of a string.
const maxUnits = 2 * maxDescription
const formattingCode = /§(x(?:§[0-9a-f]){6}|[^]?)/giu

/** Collects the text of a description in spans, without its formatting codes, and within its bounds. */
export class SpanWriter {
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
    for (const code of taken.matchAll(formattingCode)) {
      this.#add(taken.slice(end, code.index), style)
      style = styleAfterCode(code[1] ?? '', style, ofComponent)
      end = code.index + code[0].length
    }
    this.#add(taken.slice(end), style)
  }

  /** Returns the spans: at most 1,000, and at most 4,096 code points in all. */
  end(): TextSpan[] {
    let left = maxDescription
    return this.#spans.flatMap(({ text, style }) => {
      const kept = [...text].slice(0, left)
      left -= kept.length
      return kept.length === 0 ? [] : [{ text: kept.join(''), ...style }]
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
