/** Lines that are redrawn in the same place if the output is a terminal with room for them. */
export interface Screen {
  /** Draws now if the output is a terminal, and does nothing otherwise. */
  draw(lines: readonly string[]): void
  /** Draws, whether or not the output is a terminal. */
  finish(lines: readonly string[]): void
}

export function createScreen(): Screen {
  let drawn = 0
  function put(lines: readonly string[]): void {
    // Lines that have scrolled away cannot be drawn over.
    const fits = drawn > 0 && drawn < (process.stdout.rows || 24)
    if (fits) process.stdout.write(`\u001b[${drawn}A\u001b[0J`)
    console.log(lines.join('\n'))
    drawn = lines.length
  }
  return {
    draw(lines) {
      if (process.stdout.isTTY && lines.length < (process.stdout.rows || 24)) put(lines)
    },
    finish(lines) {
      put(lines)
      if (!process.stdout.isTTY) drawn = 0
    },
  }
}
