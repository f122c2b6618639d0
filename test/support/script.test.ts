import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Run a script of `npm run` as npm does. */
const run = (name: string, ...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`test/lab/${name}/main.ts`, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

it('says what a script is for', () => {
  const { status, stdout } = run('simulation', '--help')
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^`npm run simulate -- \[--runs N\].*\ninvariant of /),
  })
})

it.each([
  ['bench', 'ligth', /^ligth is no part of it; there are: reaction, throughput, .*\n\n`npm run bench /],
  ['judgement', 'cook', /^cook is no part of it; there are: liquidator, allocator, /],
  ['simulation', '--sed=1', /^Unknown option '--sed'.*\n\n`npm run simulate /],
  ['day', '--blocks=many', /^--blocks is "many"; expected a whole number, for example 7200\.\n/],
  ['mutation', '--only=gard', /^--only is "gard"; there are: guard, ledger, sign\.\n/],
])('names what %s does not know: %j', (name, arg, problem) => {
  expect(run(name, arg)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(problem) })
})

it('asks for a part where nothing is measured without one', () => {
  expect(run('bench')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^It needs a part: reaction, /),
  })
})
