import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** What a script's own first comment says of it. */
const helpOf = (url: string): string =>
  (/\/\*\*([\s\S]*?)\*\//.exec(readFileSync(fileURLToPath(url), 'utf8'))?.[1] ?? '')
    .replaceAll(/^\s*\*? ?/gm, '')
    .trim()

/**
 * Read what a script of `npm run` was asked for. `--help` prints its own first comment; what is not known, or no number where
 * the default is one, ends it with exit code 2 and that comment.
 * @param url of the script.
 * @param parts what may be asked for by name; of these, how many at least.
 */
export function readScript<const O extends Options>(
  url: string,
  options: O,
  parts: readonly string[] = [],
  atLeast = 0,
) {
  const asked = { help: { type: 'boolean', short: 'h' }, ...options } as const
  const fail = (problem: string): never => {
    process.stderr.write(`${problem}\n\n${helpOf(url)}\n`)
    process.exit(2)
  }
  const read = () => {
    try {
      return parseArgs({ options: asked, allowPositionals: true })
    } catch (error) {
      return fail(error instanceof Error ? error.message : String(error))
    }
  }
  const { values, positionals } = read()
  const given: Readonly<Record<string, unknown>> = values
  if (given.help === true) {
    process.stdout.write(`${helpOf(url)}\n`)
    process.exit(0)
  }
  const unknown = positionals.find((each) => !parts.includes(each))
  if (unknown !== undefined)
    fail(
      `${unknown} is no part of it; ${parts.length === 0 ? 'it has none' : `there are: ${parts.join(', ')}`}.`,
    )
  if (positionals.length < atLeast) fail(`It needs a part: ${parts.join(', ')}.`)
  for (const [name, { default: usual }] of Object.entries(options)) {
    if (/^\d+$/.test(String(usual)) && !/^\d+$/.test(String(given[name])))
      fail(`--${name} is ${JSON.stringify(given[name])}; expected a whole number, for example ${usual}.`)
  }
  return { values, positionals }
}
