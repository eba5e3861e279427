/** The game's colors, and its darkest ones a little lighter for a dark page. */
const colors = {
  black: '#4a4f5a',
  dark_blue: '#3b5bdb',
  dark_green: '#00aa00',
  dark_aqua: '#00aaaa',
  dark_red: '#d9480f',
  dark_purple: '#aa00aa',
  gold: '#ffaa00',
  gray: '#aaaaaa',
  dark_gray: '#7a7f8a',
  blue: '#7b87ff',
  green: '#55ff55',
  aqua: '#55ffff',
  red: '#ff5555',
  light_purple: '#ff55ff',
  yellow: '#ffff55',
  white: '#ffffff',
}
const styles = ['bold', 'italic', 'underlined', 'strikethrough', 'obfuscated']

/** Draws a description. Its text is a stranger's: it is only ever set as text, and a color only as a color. */
export function drawDescription(spans) {
  return spans.map((span) => {
    const element = document.createElement('span')
    element.textContent = span.text
    element.style.color = colors[span.color] ?? span.color ?? ''
    element.className = styles.filter((style) => span[style]).join(' ')
    return element
  })
}
