/** What one operation or workflow type came to. */
export type Row = {
  readonly kind: 'operation' | 'workflow'
  readonly name: string
  readonly checks: number
  /** What is wrong; the row passes when there is nothing. */
  readonly problems: readonly string[]
  readonly ms: number
}

/** Collects what a row looks at. */
export type Findings = {
  /** Hold that `condition` is so; `problem` is what is said when it is not. */
  readonly hold: (condition: boolean, problem: string) => void
  /** Take over problems found elsewhere, as one check. */
  readonly take: (problems: readonly string[]) => void
}

/** Run what looks at one operation or workflow type, and make a row of it; an exception is a problem too. */
export async function rowOf(
  kind: Row['kind'],
  name: string,
  look: (findings: Findings) => Promise<void>,
): Promise<Row> {
  const started = performance.now()
  const problems: string[] = []
  let checks = 0
  const take = (found: readonly string[]) => {
    checks += 1
    problems.push(...found)
  }
  const hold = (condition: boolean, problem: string) => take(condition ? [] : [problem])
  await look({ hold, take }).catch((error: unknown) =>
    take([error instanceof Error ? error.message : String(error)]),
  )
  return {
    kind,
    name,
    checks,
    problems: [...new Set(problems)],
    ms: Math.round(performance.now() - started),
  }
}
