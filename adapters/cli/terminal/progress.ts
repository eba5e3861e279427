/**
 * Says what is being done while it takes long, on a line of the terminal that is gone afterwards. Standard error, because
 * the result may go to a file.
 */
export async function withProgress<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  const { stderr } = process
  if (!stderr.isTTY) return work()
  let seconds = 0
  // At once, too: some work leaves no timer a turn.
  stderr.write(`${what} …`)
  const timer = setInterval(() => {
    seconds += 1
    stderr.write(`\r${what} … ${seconds} s`)
  }, 1000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    stderr.write(clearLine)
  }
}

const clearLine = '\r\u001B[2K'
