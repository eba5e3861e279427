/** Lines that are drawn again and again in the same place, where a terminal is that has room for them. */
export interface Screen {
  /** Draws now, where a terminal is; elsewhere nothing. */
  draw(lines: readonly string[]): void
  /** Draws, whatever shows it. */
  finish(lines: readonly string[]): void
}

export function createScreen(): Screen {
  let drawn = 0
  function put(lines: readonly string[]): void {
    // What has scrolled away cannot be drawn over.
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
