import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/peers/**'],
    testTimeout: 20_000,
  },
}

export default config
