import {
  type Difference,
  type Direction,
  differ,
  directionOf,
  type Members,
  membersOf,
  ofSets,
} from './difference.ts'

/** Compare when people are asked, and who they are: what is asked about more, or of more people, is narrower. Pure. */
export function compareApproval(was: Members, is: Members): readonly Difference[] {
  const [before, after] = [was, is].map((each) => membersOf(each.approval)) as [Members, Members]
  const always = ofSets(namesOf(before.always), namesOf(after.always), 'more')
  return [
    ...differ('approval.always', before.always, after.always, always),
    ...compareAmounts(before, after),
    ...differ('approval.beyond', before.beyond, after.beyond, lower(before.beyond, after.beyond)),
    ...differ(
      'approval.expiresAfter',
      before.expiresAfter,
      after.expiresAfter,
      lower(before.expiresAfter, after.expiresAfter),
    ),
    ...compareApprovers(membersOf(before.approvers), membersOf(after.approvers)),
    ...compareQuorum(before.quorum ?? '1', after.quorum ?? '1'),
  ]
}

const namesOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

/** Less is asked about earlier; nothing is never asked about. Pure. */
function lower(was: unknown, is: unknown): Direction | null {
  if (was === undefined) return 'narrower'
  return is === undefined ? 'wider' : directionOf(String(was), String(is), 'less')
}

/** Compare above what people are asked; where nothing is said of a day, what is said of one workflow holds for it. Pure. */
function compareAmounts(before: Members, after: Members): readonly Difference[] {
  const [old, now] = [before, after].map(thresholdsOf) as [Thresholds, Thresholds]
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((path) =>
    differ(path, old.get(path), now.get(path), lower(old.get(path), now.get(path))),
  )
}

type Thresholds = ReadonlyMap<string, unknown>

function thresholdsOf({ aboveUsd, aboveUsdPerDay, ...approval }: Members): Thresholds {
  const [alone, perDay] = [membersOf(approval.aboveAssets), membersOf(approval.aboveAssetsPerDay)]
  return new Map([
    ['approval.aboveUsd', aboveUsd] as const,
    ['approval.aboveUsdPerDay', aboveUsdPerDay ?? aboveUsd] as const,
    ...Object.entries(alone).map(([symbol, each]) => [`approval.aboveAssets.${symbol}`, each] as const),
    ...Object.entries({ ...alone, ...perDay }).map(
      ([symbol, each]) => [`approval.aboveAssetsPerDay.${symbol}`, each] as const,
    ),
  ])
}

/** Who is there more may approve more; but with nobody, whoever writes to the records may. Pure. */
function compareApprovers(was: Members, is: Members): readonly Difference[] {
  const [names, now] = [Object.keys(was), Object.keys(is)]
  const wasNone = names.length === 0
  const isNone = now.length === 0
  return [...new Set([...now, ...names])].flatMap((name) => {
    const direction =
      was[name] === undefined
        ? wasNone
          ? 'narrower'
          : 'wider'
        : is[name] !== undefined
          ? 'unknown'
          : isNone
            ? 'wider'
            : 'narrower'
    return differ(`approval.approvers.${name}`, was[name], is[name], direction)
  })
}

function compareQuorum(was: unknown, is: unknown): readonly Difference[] {
  return differ('approval.quorum', was, is, directionOf(String(was), String(is), 'more'))
}
