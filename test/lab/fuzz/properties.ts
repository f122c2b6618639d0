/**
 * `npm run properties [-- --seed S]`: every test file with a property, with a seed that is new in each run. What is
 * found is repeated by the seed that is printed first. Exits as the tests do.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { readScript } from '../../support/script.ts'

const { values } = readScript(import.meta.url, {
  seed: { type: 'string', default: process.env.npm_config_seed ?? String(randomInt(2 ** 31)) },
})
const files = globSync('test/**/*.test.ts').filter((file) =>
  readFileSync(file, 'utf8').includes("from 'fast-check'"),
)
process.stdout.write(`seed ${values.seed}; to repeat it: npm run properties -- --seed ${values.seed}\n`)
const { status } = spawnSync('npx', ['vitest', 'run', ...files], {
  stdio: 'inherit',
  env: { ...process.env, PROPERTY_SEED: values.seed },
})
process.exitCode = status ?? 1
