import { namedColors, type TextColor, type TextSpan } from '../../domain/server-status.ts'
import type { Writable } from '../../domain/writable.ts'
import { own } from './own-property.ts'

const decorations = ['bold', 'italic', 'underlined', 'strikethrough', 'obfuscated'] as const
type Decoration = (typeof decorations)[number]

/** How a span of text is drawn. All members are always there, so that copies are quick. */
export interface TextStyle extends Readonly<Record<Decoration, boolean>> {
  readonly color: TextColor | null
}

/** The style of text without formatting. */
export const plainStyle: TextStyle = {
  color: null,
  bold: false,
  italic: false,
  underlined: false,
  strikethrough: false,
  obfuscated: false,
}

const colorCodes = '0123456789abcdef'
const hexColor = /^#[0-9a-f]{1,6}$/i
const decorationByCode: Readonly<Record<string, Decoration>> = {
  k: 'obfuscated',
  l: 'bold',
  m: 'strikethrough',
  n: 'underlined',
  o: 'italic',
}

/** Returns the style of a component inside text of another style. */
export function componentStyle(component: unknown, outer: TextStyle): TextStyle {
  if (typeof component !== 'object' || component === null) return outer
  const color = parseColor(own(component, 'color'))
  const style: Writable<TextStyle> = { ...outer }
  if (color !== undefined) style.color = color
  for (const decoration of decorations) {
    const value = own(component, decoration)
    if (typeof value === 'boolean') style[decoration] = value
  }
  return style
}

/** Returns a color, null for none, or undefined if this is no color. Hexadecimal ones may be short, as in the game. */
function parseColor(value: unknown): TextColor | null | undefined {
  if (typeof value !== 'string') return undefined
  if (hexColor.test(value)) return `#${value.slice(1).toLowerCase().padStart(6, '0')}`
  return value === 'reset' ? null : namedColors.find((name) => name === value)
}

/**
 * Returns the style after a formatting code: the character that follows a section sign, or `x` and six such pairs, in
 * which proxies write a hexadecimal color. A color ends all decorations, `r` returns to the style of the component.
 */
export function styleAfterCode(code: string, style: TextStyle, ofComponent: TextStyle): TextStyle {
  const lower = code.toLowerCase()
  if (lower === 'r') return ofComponent
  if (lower.startsWith('x§')) return { ...plainStyle, color: `#${lower.slice(1).replaceAll('§', '')}` }
  const decoration = decorationByCode[lower]
  if (decoration !== undefined) return { ...style, [decoration]: true }
  const color = lower === '' ? undefined : namedColors[colorCodes.indexOf(lower)]
  return color === undefined ? style : { ...plainStyle, color }
}

/** Tells whether two styles are the same. */
export function isSameStyle(one: TextStyle, other: TextStyle): boolean {
  return (
    one === other ||
    (one.color === other.color && decorations.every((decoration) => one[decoration] === other[decoration]))
  )
}

/** Returns a span of text in a style, without what is not set. */
export function spanOf(text: string, style: TextStyle): TextSpan {
  const { color, bold, italic, underlined, strikethrough, obfuscated } = style
  return {
    text,
    ...(color !== null && { color }),
    ...(bold && { bold }),
    ...(italic && { italic }),
    ...(underlined && { underlined }),
    ...(strikethrough && { strikethrough }),
    ...(obfuscated && { obfuscated }),
  }
}
