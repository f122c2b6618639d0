import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'

const folder = () => newDirectory()

describe.each(['plan', 'doctor'])('rolekeeper %s', (command) => {
  it('says of a sandbox that has ended how it is started again', async () => {
    const directory = folder()
    mkdirSync(join(directory, 'sandbox'))
    expect(await runCommand([command, '--directory', directory])).toEqual({
      code: 5,
      out: '',
      err: `error order.no_keeper: The sandbox of ${directory} has ended. Fix: start it again: npm start -- --directory ${directory}\n`,
    })
  })

  it('says so of a directory that is no sandbox’s', async () => {
    expect((await runCommand([command, '--directory', folder()])).err).toContain(
      'There is no run configuration in',
    )
  })
})
