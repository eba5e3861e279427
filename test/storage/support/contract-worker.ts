// The contract suite on a database of a network, without any test framework: `… contract-worker.ts <url>`. Prints how many cases
// passed, and what became of the others.
import { storageContract } from '../../../src/testing/storage-contract.ts'
import { openBehindProxy } from './behind-proxy.ts'

const { make, close } = await openBehindProxy(process.argv[2] ?? '')
const others: Record<string, string> = {}
let passed = 0
for (const { name, run } of storageContract(make)) {
  const outcome = await run().catch(String)
  if (outcome === 'passed') passed += 1
  else others[name] = outcome
}
process.stdout.write(JSON.stringify({ passed, others }))
await close()
