import type { TextSpan } from '../../domain/server-status.ts'
import { DescriptionWriter } from './description-writer.ts'
import { own } from './own-property.ts'
import { componentStyle, plainStyle, type TextStyle } from './text-style.ts'

const maxParts = 1000
const placeholder = /%(?:(\d{1,9})\$)?([a-zA-Z%]|$)/g

/** A part of a component that has yet to be read, and the style around it. */
interface Part {
  readonly value: unknown
  readonly style: TextStyle
}

/**
 * Returns the spans of a chat component: a string, an object with `text` and `extra`, or a list of these, whose first
 * member gives the others their style.
 *
 * Never recursive, so that no depth overflows the stack, and bounded in parts and length.
 */
export function componentSpans(component: unknown): TextSpan[] {
  const writer = new DescriptionWriter()
  // Read from its end, so what comes first is pushed last.
  const pending: Part[] = [{ value: component, style: plainStyle }]
  for (let left = maxParts; left > 0 && !writer.full; left -= 1) {
    const part = pending.pop()
    if (part === undefined) break
    const { value, style } = part
    if (Array.isArray(value)) pushMembers(pending, value, style, left)
    else if (typeof value === 'object' && value !== null) pushParts(pending, value, style, left)
    else if (value !== null && value !== undefined) writer.write(String(value), style)
  }
  return writer.end()
}

/** Returns the text of spans, without their styles. */
export function textOf(spans: readonly TextSpan[]): string {
  return spans.map(({ text }) => text).join('')
}

function pushMembers(pending: Part[], list: readonly unknown[], style: TextStyle, most: number): void {
  const ofOthers = componentStyle(list[0], style)
  for (let index = Math.min(list.length, most) - 1; index > 0; index -= 1)
    pending.push({ value: list[index], style: ofOthers })
  pending.push({ value: list[0], style })
}

/** Pushes what an object contains, and then its own text, which is read first. */
function pushParts(pending: Part[], component: object, outer: TextStyle, most: number): void {
  const style = componentStyle(component, outer)
  const extra = own(component, 'extra')
  if (Array.isArray(extra)) pushAll(pending, extra, style, most)
  else if (extra !== undefined) pending.push({ value: extra, style })
  pushAll(pending, ownParts(component, most), style, most)
}

function pushAll(pending: Part[], values: readonly unknown[], style: TextStyle, most: number): void {
  for (let index = Math.min(values.length, most) - 1; index >= 0; index -= 1)
    pending.push({ value: values[index], style })
}

function ownParts(component: object, most: number): readonly unknown[] {
  const text = leaf(component, 'text')
  if (text !== undefined) return [text]
  const fallback = leaf(component, 'fallback')
  const template = fallback ?? leaf(component, 'translate') ?? leaf(component, 'keybind')
  return fillTemplate(String(template ?? ''), own(component, 'with'), most)
}

function leaf(component: object, key: string): unknown {
  const value = own(component, key)
  return typeof value === 'object' ? undefined : value
}

/**
 * Returns the parts of a translated text: pieces of its template, and the arguments where `%s`, or `%2$s`, stands.
 *
 * The template is the fallback or the key itself, as in a game that does not know the key. A template with other
 * placeholders, or with more than there are arguments, is shown as it is, as in the game.
 */
function fillTemplate(template: string, args: unknown, most: number): readonly unknown[] {
  if (!template.includes('%')) return [template]
  const given: readonly unknown[] = Array.isArray(args) ? args : []
  const parts: unknown[] = []
  let end = 0
  let next = 0
  for (const { 0: whole, 1: position, 2: kind, index } of template.matchAll(placeholder)) {
    const argument = position === undefined ? next : Number(position) - 1
    const isArgument = kind === 's' && argument in given
    if (!isArgument && whole !== '%%') return [template]
    parts.push(template.slice(end, index), isArgument ? given[argument] : '%')
    if (isArgument && position === undefined) next += 1
    end = index + whole.length
    if (parts.length >= most) break
  }
  parts.push(template.slice(end))
  return parts
}
