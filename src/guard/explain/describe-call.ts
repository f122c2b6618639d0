import type { ClearedCall } from '../calls/call.ts'
import { figureText } from '../policy/figures.ts'
import type { ListIndexes } from '../policy/paths.ts'
import type { Subject } from '../policy/references.ts'
import { whoOf } from './approval-screen.ts'

type Say = (value: bigint, path: string, place: ListIndexes) => string

/** Write a decoded value as text: lists and structures by their members. Pure. */
function shown(value: unknown, path: string, place: ListIndexes, say: Say): string {
  if (typeof value === 'bigint' || typeof value === 'number') return say(BigInt(value), path, place)
  if (Array.isArray(value)) {
    return `[${value.map((each, index) => shown(each, `${path}[]`, [...place, index], say)).join(', ')}]`
  }
  if (value === null || typeof value !== 'object') return whoOf(String(value))
  const members = Object.entries(value).map(
    ([name, member]) => `${name}: ${shown(member, `${path}.${name}`, place, say)}`,
  )
  return `{ ${members.join(', ')} }`
}

/** Write a cleared call as the guard read it: contract, function, and every argument by its name. Pure. */
export function describeCall({ rule, to, args, approval }: ClearedCall, subject: Subject): string {
  const say: Say = (value, path, place) => {
    const tests = rule.leaves.find((leaf) => leaf.path === path)?.tests ?? []
    const reference = tests.flatMap((test) => ('reference' in test ? test.reference.text : []))[0] ?? ''
    return figureText(value, { path, place, reference, approved: approval?.token }, subject)
  }
  const named = rule.abi.inputs.map(({ name = '' }) => `${name}: ${shown(args[name], name, [], say)}`)
  return `${to ?? 'new'}.${rule.abi.name}(${named.join(', ')})`
}
