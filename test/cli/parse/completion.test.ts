import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'

const script = async (shell: string) => (await runCommand(['completion', shell])).out

/** What bash offers for the last of some words. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const typed = ['rolekeeper', ...words].map((word) => `'${word}'`).join(' ')
  const lines = [
    await script('bash'),
    `COMP_WORDS=(${typed}) COMP_CWORD=${words.length}`,
    '_rolekeeper',
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ]
  const { stdout, status, stderr } = spawnSync('bash', ['-c', lines.join('\n')], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trim().split('\n')
}

it('completes commands, their words and options, and roles, from the table of commands', async () => {
  expect(await offered('work')).toEqual(['workflows'])
  expect(await offered('workflows', '')).toEqual(expect.arrayContaining(['list', 'show', '--json', '--help']))
  expect(await offered('pause', 'al')).toEqual(['allocator'])
  expect(await offered('pause', '--r')).toEqual(['--reason'])
  expect(await offered('pnl', '--role', 'rfq')).toEqual(['rfq-bidder'])
  expect(await offered('run', '--config', 'package.')).toEqual(['package.json'])
  expect(await offered('workflows', 'list', '--state', 're')).toEqual(['requested', 'refused', 'reverted'])
  expect(await offered('workflows', 'list', '--since', '')).toEqual([''])
  expect(await offered('completion', 'f')).toEqual(['fish'])
})

it('writes the same for zsh and fish, and names the nearest of what is no shell', async () => {
  expect(await script('zsh')).toContain(`bashcompinit\n${await script('bash')}`)
  const fish = await script('fish')
  expect(fish).toContain("-n '__fish_seen_subcommand_from pnl' -l role -x -a 'liquidator ")
  expect(fish).toContain("-a kill -d 'sign nothing and send nothing new'\n")
  expect((await runCommand(['completion', 'bsh'])).err).toContain('Fix: perhaps `bash`; give one of')
})
