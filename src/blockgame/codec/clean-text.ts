import { controlOrBidi } from '../../domain/header-text.ts'

const maxName = 256
const maxId = 64
const controls = new RegExp(controlOrBidi.source, 'gu')
// A section sign swallows the character after it, as the game draws it.
const codesAndControls = new RegExp(`§[^]?|${controls.source}`, 'gu')
// Most texts are nothing else, and tell so in a tenth of the time.
const plain = /^[\n -~]*$/
const controlsInLines = new RegExp(`(?!\\n)${controls.source}`, 'gu')

/** A version's name: it keeps its formatting codes, and has at most 256 code points. */
export function versionText(value: unknown): string {
  return typeof value === 'string' ? fit(value, controls, maxName) : ''
}

/** A player's name, without formatting codes, of at most 256 code points. Many servers write lines of text there. */
export function playerText(name: string): string {
  return fit(name, codesAndControls, maxName)
}

/** A player's id, of at most 64 code points; a UUID has 36. */
export function idText(value: unknown): string {
  return typeof value === 'string' ? fit(value, controls, maxId) : ''
}

/** A piece of a description: it keeps its line feeds. */
export function withoutControls(text: string): string {
  return plain.test(text) ? text : text.replace(controlsInLines, '')
}

/**
 * Cut before it is cleaned, because a server may send a megabyte. The cut may leave half a surrogate pair, which is
 * unwanted.
 */
function fit(text: string, unwanted: RegExp, limit: number): string {
  const clean = text.slice(0, 2 * limit).replace(unwanted, '')
  return clean.length <= limit ? clean : [...clean].slice(0, limit).join('')
}
