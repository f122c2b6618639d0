import { readFileSync } from 'node:fs'
import { loadYaml } from '../../config/yaml.ts'
import { printable } from '../../errors.ts'
import type { MissingPin } from '../../keeper/policy-tools/plan-pins.ts'

/**
 * Write what a run configuration is to name so that it can be pasted into this very file, and where it goes: as one more item
 * of a list in YAML, or in front of the others where the list is in brackets, as in JSON.
 * @throws RolekeeperError what reading the file throws.
 */
export function pinText(pin: MissingPin, file: string): readonly string[] {
  const { list, name, address, codeHash, asset, isOurs } = pin
  const entry = `{ ${Object.entries({ name, address, codeHash, ...(asset === undefined ? {} : { asset }) })
    .map(([key, value]) => `"${key}": ${JSON.stringify(value)}`)
    .join(', ')} }`
  const { where, lines } = placeIn(file, list, entry)
  const whose = isOurs
    ? 'our signer created it: pin it'
    : 'our signer did not create it: see whose it is, and only then pin it'
  return [`    ${whose} with this line, ${printable(where)}:`, ...lines]
}

function placeIn(
  file: string,
  list: string,
  entry: string,
): { readonly where: string; readonly lines: readonly string[] } {
  const { value, at } = loadYaml(file)
  const deployment = memberOf(value, 'deployment')
  const isThere = memberOf(deployment, list) !== undefined
  // Of a list that is not there, the mapping that it goes into.
  const place = at(isThere ? ['deployment', list] : ['deployment'])
  const [key = '', ...below] = linesFrom(file, place)
  const begins = [key.replace(/^.*?:/, ''), ...below].find((text) => /^\s*[^\s#]/.test(text)) ?? ''
  const isInBrackets = /^\s*[[{]/.test(begins)
  const within = indentOf((isInBrackets ? below.find((text) => /\S/.test(text)) : begins) ?? '')
  const own = indentOf(linesFrom(file, place.replace(/\d+$/, '1'))[0] ?? '')
  // In brackets as well: within YAML a line begins right of the name that they belong to.
  const indent = isInBrackets && within.length <= own.length ? `${own}  ` : within
  const there = place.replace(/:\d+$/, '')
  if (isThere && isInBrackets)
    return { where: `right behind "[" of ${list} (${there})`, lines: [`${indent}${entry},`] }
  if (isThere) return { where: `above the others of ${list} (${there})`, lines: [`${indent}- ${entry}`] }
  if (isInBrackets)
    return { where: `right behind "{" of deployment (${there})`, lines: [`${indent}"${list}": [${entry}],`] }
  return { where: `under deployment (${there})`, lines: [`${indent}${list}: [${entry}]`] }
}

/** The lines of a file from a place in it on, the first from its column on. */
function linesFrom(file: string, place: string): readonly string[] {
  const [, line = '1', column = '1'] = /:(\d+):(\d+)$/.exec(place) ?? []
  const [first = '', ...others] = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .slice(Number(line) - 1)
  return [first.slice(Number(column) - 1), ...others]
}

const indentOf = (line: string): string => /^\s*/.exec(line)?.[0] ?? ''

const memberOf = (held: unknown, name: string): unknown =>
  held !== null && typeof held === 'object' ? Reflect.get(held, name) : undefined
