/** Arguments of a call by the names of their parameters, as they were decoded. */
export type Arguments = Readonly<Record<string, unknown>>

const EACH = '[]'

/** Whether a path goes through a list: `withdrawals[].market`. Pure. */
export const isEach = (path: string): boolean => path.includes(EACH)

/** Name the list that a path goes through: `withdrawals` of `withdrawals[].market`. Pure. */
export const listOf = (path: string): string => path.slice(0, path.indexOf(EACH))

/** Read a member by its path; `index` picks the element of the list that it goes through. Pure. */
export function memberAt(root: unknown, path: string, index = 0): unknown {
  return path.split('.').reduce((found, segment) => {
    const member = ownMember(found, segment.replace(EACH, ''))
    if (!segment.endsWith(EACH)) return member
    return Array.isArray(member) ? member[index] : undefined
  }, root)
}

/** Count the elements of the list that a path goes through; undefined when it is no list. Pure. */
export function countAt(root: unknown, path: string): number | undefined {
  const list = memberAt(root, listOf(path))
  return Array.isArray(list) ? list.length : undefined
}

const ownMember = (found: unknown, name: string): unknown =>
  typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    ? Object.getOwnPropertyDescriptor(found, name)?.value
    : undefined
