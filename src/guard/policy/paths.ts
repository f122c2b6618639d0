/** Arguments of a call by the names of their parameters, as they were decoded. */
export type Arguments = Readonly<Record<string, unknown>>

/** Which element of each list that a path goes through, from the outermost on. */
export type ListIndexes = readonly number[]

const EACH = '[]'

/** A path's steps: names, `[]` for each element of a list, `[2]` for one. */
const stepsOf = (path: string): readonly string[] => path.match(/[^.[\]]+|\[\d*\]/g) ?? []

/** How many lists a path goes through: two in `groups[].members[].share`. Pure. */
export const depthOf = (path: string): number => path.split(EACH).length - 1

/** Name the lists that a path goes through, outermost first: `groups`, `groups[].members`. Pure. */
export const listsOf = (path: string): readonly string[] =>
  path
    .split(EACH)
    .slice(0, -1)
    .map((_part, level, parts) => parts.slice(0, level + 1).join(EACH))

/** Read a member by its path: `withdrawals[].market`, `pair[1]`, `moves.length`. Pure. */
export function memberAt(root: unknown, path: string, place: ListIndexes = []): unknown {
  let level = 0
  return stepsOf(path).reduce((found, step) => {
    if (!step.startsWith('[')) return ownMember(found, step)
    const index = step === EACH ? place[level++] : Number(step.slice(1, -1))
    return Array.isArray(found) && index !== undefined ? found[index] : undefined
  }, root)
}

/** Find the place of every element that a path leads to; one, of no index, when it goes through no list. Pure. */
export function placesOf(root: unknown, path: string): readonly ListIndexes[] {
  const lists = listsOf(path)
  return lists.reduce<readonly ListIndexes[]>(
    (places, list) =>
      places.flatMap((place) => {
        const found = memberAt(root, list, place)
        return Array.isArray(found) ? found.map((_element, index) => [...place, index]) : []
      }),
    [[]],
  )
}

/** Count the elements of the list that a path goes through; undefined when it is no list. Pure. */
export function countAt(root: unknown, path: string): number | undefined {
  const list = memberAt(root, path.slice(0, path.indexOf(EACH)))
  return Array.isArray(list) ? list.length : undefined
}

const ownMember = (found: unknown, name: string): unknown =>
  typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    ? Object.getOwnPropertyDescriptor(found, name)?.value
    : undefined
