import { readFileSync } from 'node:fs'
import { printable, RolekeeperError } from '../../errors.ts'
import type { Comparison } from '../../service/contract-diff/api-diff.ts'
import type { Difference } from '../../service/contract-diff/schema-diff.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'

const WORDS = {
  known: ['diff'],
  a: 'a command of api',
  asks: 'api takes `diff` and a file or URL.',
  fix: 'see: rolekeeper api --help',
}

/** `rolekeeper api diff`: what a service's own contract says otherwise than we do. */
export const api = command({
  name: 'api',
  usage: 'diff FILE|URL [--json]',
  help: `Compare the OpenAPI contract of a service (JSON or YAML) with what this release speaks, and say what to change:
a path of the run configuration, or an entry of the catalogue. Exits with 0 when nothing differs, 1 when something does,
2 when the contract cannot be read.

  rolekeeper api diff https://api.service.example/openapi.json`,
  options: { json: { help: 'one JSON object a line' } },
  argumentsMax: 2,
  run: async ({ json }, [verb, source], io) => {
    if (verb !== undefined && verb !== 'diff') throw unknownWord(verb, WORDS)
    if (verb !== 'diff' || source === undefined) throw usageError(WORDS.asks, WORDS.fix)
    const { parseContract } = await import('../../service/contract-diff/parse-contract.ts')
    const { compareContract } = await import('../../service/contract-diff/api-diff.ts')
    const comparison = compareContract(parseContract(printable(source), await textOf(source)))
    if (json === true) writeJson(comparison, io)
    else write(comparison, io)
    return comparison.differences.length === 0 ? 0 : 1
  },
})

async function textOf(source: string): Promise<string> {
  if (/^https?:\/\//.test(source) && URL.canParse(source)) {
    const { fetchContract } = await import('../../service/contract-diff/fetch-contract.ts')
    return fetchContract(new URL(source))
  }
  try {
    return readFileSync(source, 'utf8')
  } catch {
    throw new RolekeeperError('config.contract_unreadable', `The file ${printable(source)} cannot be read.`, {
      fix: 'check the path, or give an http or https URL.',
    })
  }
}

function writeJson({ differences, unsaid }: Comparison, io: Io): void {
  for (const difference of differences) io.out(`${JSON.stringify(difference)}\n`)
  io.out(`${JSON.stringify({ kind: 'summary', differences: differences.length, unsaid })}\n`)
}

function write({ differences, unsaid }: Comparison, io: Io): void {
  for (const each of differences) io.out(textOfDifference(each))
  io.out(
    differences.length === 0
      ? 'The contract says what we say.\n'
      : `${differences.length} ${differences.length === 1 ? 'difference' : 'differences'}.\n`,
  )
  if (unsaid.length > 0)
    io.out(
      `It says nothing of these, which stay assumed: ${unsaid.join(', ')}. docs/assumptions.md lists them.\n`,
    )
}

/** The contract is the service's: none of its words reaches the terminal as it is. */
const textOfDifference = ({ kind, where, ours, theirs, change }: Difference): string =>
  `${kind.padEnd(17)}  ${printable(where)}\n  ours: ${printable(ours)}; theirs: ${printable(theirs)}\n  → ${printable(change)}\n`
