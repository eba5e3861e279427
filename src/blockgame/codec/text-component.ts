import { controlOrBidi } from '../../domain/header-text.ts'

const maxParts = 1000
const maxDescription = 4096
const maxName = 256
const maxId = 64
const leafKeys = ['text', 'fallback', 'translate', 'keybind']
const controls = new RegExp(controlOrBidi.source, 'gu')
// A section sign swallows the character after it, as the game draws it.
const codesAndControls = new RegExp(`§[^]?|${controls.source}`, 'gu')
const codesAndControlsInLines = new RegExp(`§[^]?|(?!\\n)${controls.source}`, 'gu')

/** A version's name: it keeps its formatting codes, and has at most 256 code points. */
export function versionText(value: unknown): string {
  return typeof value === 'string' ? fit(value, controls, maxName) : ''
}

/** A player's name, without formatting codes, of at most 256 code points: many servers write lines of text there. */
export function playerText(name: string): string {
  return fit(name, codesAndControls, maxName)
}

/** A player's id, of at most 64 code points; a UUID has 36. */
export function idText(value: unknown): string {
  return typeof value === 'string' ? fit(value, controls, maxId) : ''
}

/** A description, without formatting codes but with its line feeds, of at most 4,096 code points. */
export function descriptionText(text: string): string {
  return fit(text, codesAndControlsInLines, maxDescription)
}

/** Cut before it is cleaned: a server may send a megabyte. Well-formed, as the cut may fall inside a surrogate pair. */
function fit(text: string, unwanted: RegExp, limit: number): string {
  const clean = text
    .slice(0, 2 * limit)
    .replace(unwanted, '')
    .toWellFormed()
  return clean.length <= limit ? clean : [...clean].slice(0, limit).join('')
}

/**
 * The text of a chat component, cleaned: a string, an object with `text` and `extra`, or a list of these.
 *
 * Never recursive, so that no depth overflows the stack, and bounded in parts and length.
 */
export function componentText(component: unknown): string {
  const pending: unknown[] = [component]
  let text = ''
  const longest = 2 * maxDescription
  for (let parts = 0; pending.length > 0 && parts < maxParts && text.length < longest; parts += 1) {
    const part = pending.pop()
    if (typeof part === 'object' && part !== null) pushParts(pending, part)
    else if (part !== null && part !== undefined) text += String(part)
  }
  return descriptionText(text)
}

// The stack is read from its end, so what comes first goes on last.
function pushParts(pending: unknown[], part: object): void {
  const list = Array.isArray(part) ? part : own(part, 'extra')
  if (!Array.isArray(list)) pending.push(list)
  else for (let index = Math.min(list.length, maxParts) - 1; index >= 0; index -= 1) pending.push(list[index])
  if (!Array.isArray(part)) pending.push(leafText(part))
}

function leafText(part: object): unknown {
  for (const key of leafKeys) {
    const text = own(part, key)
    if (typeof text !== 'object' && text !== undefined) return text
  }
  return undefined
}

/** A property of an object's own; undefined for inherited ones, so that no polluted prototype answers for a server. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}
