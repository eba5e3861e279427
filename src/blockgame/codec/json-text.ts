const [quote, backslash, space] = [0x22, 0x5c, 0x20]

/** So many are escaped, each a copy. A MiB of them would take more than a second. */
const maxControls = 4096

/**
 * Parses JSON as the game's parser does, which also takes control characters inside texts: servers put raw line feeds
 * and tabs there. It skips a byte order mark, too.
 *
 * @throws `SyntaxError` for anything else; its message quotes the text.
 */
export function parseGameJson(text: string): unknown {
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    return JSON.parse(json)
  } catch (error) {
    const escaped = escapeControls(json)
    if (escaped === json) throw error
    return JSON.parse(escaped)
  }
}

/** Escapes the first control characters inside texts; those outside are white space. */
function escapeControls(json: string): string {
  const pieces: string[] = []
  let end = 0
  let inText = false
  for (let index = 0; index < json.length && pieces.length < maxControls; index += 1) {
    const code = json.charCodeAt(index)
    if (code === quote) inText = !inText
    else if (!inText) continue
    else if (code < space) {
      pieces.push(`${json.slice(end, index)}\\u00${code.toString(16).padStart(2, '0')}`)
      end = index + 1
    } else if (code !== backslash) continue
    else if (json.charCodeAt(index + 1) >= space) index += 1
    else {
      // A backslash before a line end means that line end.
      pieces.push(json.slice(end, index))
      end = index + 1
    }
  }
  return pieces.join('') + json.slice(end)
}
