// Tests are sentences about behaviour. unit/ never sleeps; sim/ has a virtual clock; net/ and browser/ are real.
import { defineConfig } from 'vitest/config'

/** One after the other: real networks never run beside simulations, which would make them late. */
const groups = ['unit', 'cli', 'sim', 'net', 'browser']

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export
export default defineConfig({
  test: {
    projects: groups.map((name, groupOrder) => ({
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        sequence: { groupOrder },
        testTimeout: 60_000,
        hookTimeout: 60_000,
        // Real processes and networks may be late once on a busy machine, and the run says so. A unit or a simulation
        // never is: what fails there once is wrong.
        retry: name === 'unit' || name === 'sim' ? 0 : 1,
        // Real processes and namespaces have the machine to themselves, file by file.
        fileParallelism: name !== 'net' && name !== 'browser',
      },
    })),
  },
})
