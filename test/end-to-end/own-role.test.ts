import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { z } from 'zod'

/** What the README says of a file: the code that follows the first mention of its path. */
function shownIn(readme: string, path: string): string {
  const from = readme.indexOf(`\`${path}\``)
  const code = /```(?:ts|yaml)\n([\s\S]*?)```/.exec(readme.slice(from))?.[1]
  if (from < 0 || code === undefined) throw new TypeError(`the README shows no ${path}`)
  return code
}

const ended = z.object({
  type: z.literal('workflow'),
  role: z.string(),
  state: z.string(),
  check: z.string().optional(),
})

it('staffs the role that the README writes, word for word, and carries its first workflow to success', async () => {
  const root = mkdtempSync(join(tmpdir(), 'own-role-'))
  for (const part of ['agents', 'src', 'sandbox', 'policies', 'package.json'])
    cpSync(part, join(root, part), { recursive: true })
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'))
  const readme = readFileSync('README.md', 'utf8')
  const files = ['policy', 'decide', 'agent'].map((name) => `agents/treasurer/${name}.ts`)
  for (const path of [...files, 'policies/treasurer.yaml']) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), shownIn(readme, path))
  }
  const registry = readFileSync('agents/index.ts', 'utf8')
  const line = registry.replace(/\[([^\]]*)\]$/m, '[$1, treasurer]')
  writeFileSync(join(root, 'agents/index.ts'), `import { treasurer } from './treasurer/agent.ts'\n${line}`)

  const keeper = spawn(process.execPath, ['src/cli/main.ts', 'start', '--json', '--for', '60s'], {
    cwd: root,
  })
  let complaint = ''
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  try {
    for await (const text of createInterface({ input: keeper.stdout })) {
      const event = ended.safeParse(JSON.parse(text))
      if (!event.success || event.data.role !== 'treasurer') continue
      expect(event.data.check).toBeUndefined()
      if (event.data.state === 'succeeded') return
    }
    throw new TypeError(`the treasurer came to no success: ${complaint}`)
  } finally {
    const exited = new Promise((resolve) => keeper.once('exit', resolve))
    keeper.kill('SIGTERM')
    await exited
    rmSync(root, { recursive: true })
  }
}, 60_000)
