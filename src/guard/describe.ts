import type { ClearedCall } from './calls.ts'

/** Write a decoded value as text: base units as digits, lists and structures by their members. Pure. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (value === null || typeof value !== 'object') return String(value)
  const members = Object.entries(value).map(([name, member]) => `${name}: ${shown(member)}`)
  return `{ ${members.join(', ')} }`
}

/** Write a cleared call as the guard read it: contract, function, and every argument by its name. Pure. */
export function describeCall({ rule, to, args }: Pick<ClearedCall, 'rule' | 'to' | 'args'>): string {
  const named = rule.abi.inputs.map(({ name = '' }) => `${name}: ${shown(args[name])}`)
  return `${to ?? 'new'}.${rule.abi.name}(${named.join(', ')})`
}
