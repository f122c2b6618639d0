import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../../support/commands.ts'
import { newDirectory } from '../../../support/directory.ts'

it.each([
  ['{}', 'chainId is missing; expected a number without quotes.'],
  ['{"chainId":"1"}', 'chainId is "1"; expected a number without quotes.'],
  ['{"chainId":1.5}', 'chainId is "1.5"; expected a whole number without quotes.'],
  ['[1]', 'the file is a list; expected a mapping.'],
  ['{"request":{},"answer":{}}', 'request.workflowType is missing; allowed: '],
  ['{', 'it is not JSON.'],
])('says which member of %s is wrong, and what is expected there', async (text, problem) => {
  const file = join(newDirectory(), 'j.json')
  writeFileSync(file, text)
  const { code, out, err } = await runCommand([
    ...['policy', 'explain', 'policies/nav-reporter.yaml', file, '--config', 'config/example.yaml'],
  ])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(`error policy.answer_unreadable: ${file} is no prepared workflow: ${problem}`)
  expect(err).toContain('Fix: give what `rolekeeper workflows show ID --json` prints')
})
