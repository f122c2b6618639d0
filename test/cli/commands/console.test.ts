import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'

const folder = () => newDirectory()

it('ends with 2 beside a stray directory, and leaves it as it is', async () => {
  const directory = folder()
  mkdirSync(join(directory, 'notes'))
  const { code, out, err } = await runCommand(['console', '--directory', directory])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(`error keeper.none: No keeper ever worked in ${directory}`)
  expect(readdirSync(directory)).toEqual(['notes'])
})

it('ends with 1 where a keeper worked and shows no console now, and says how one is opened', async () => {
  const directory = folder()
  writeFileSync(join(directory, 'journal.sqlite'), '')
  const { code, out, err } = await runCommand(['console', '--directory', directory])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toBe(
    `error console.absent: No keeper in ${directory} shows a console now. Fix: start it with \`console: { port: "9466" }\` in its run configuration, or name its directory with --directory.\n`,
  )
})
