import { z } from 'zod'
import { addr } from '../../../src/service/contract/scalars.ts'
import { EXIT_TERM_KINDS } from '../../../src/service/contract/workflow-inputs.ts'
import { count, seconds } from '../../../src/service/contract/yaml-scalars.ts'

/** Yes or no; YAML gives it as text. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** What people call a thing, as a contract or the service keeps it. */
export const title = z.string().min(1).max(64)
/** What a token is called for short. */
export const ticker = z.string().regex(/^[A-Za-z0-9]{1,16}$/, 'expected 1 to 16 letters and digits')

/** An address, or `self` for the agent's own signer. */
export const person = z.union([z.literal('self'), addr], { error: 'expected an address, or self' })

export const NOBODY = '0x0000000000000000000000000000000000000000'
/** The same without the zero address, which is nobody. */
export const somebody = person.refine((one) => one !== NOBODY, {
  error: 'expected another address than zero, which is nobody',
})

const YEAR_S = 31_536_000
const UINT64_MAX = Number.MAX_SAFE_INTEGER

/** The members that say when holders are paid; times that the kind does not use are 0. */
export const exitTermMembers = {
  exitTermKind: z.enum(EXIT_TERM_KINDS),
  noticeSeconds: seconds(0, YEAR_S),
  intervalSeconds: seconds(0, YEAR_S),
  maturityTimestamp: count('Unix seconds', 0, UINT64_MAX),
}

/** When holders of a vault are paid. Times in seconds, the maturity in Unix seconds. */
export type DeclaredExitTerms = {
  readonly exitTermKind: (typeof EXIT_TERM_KINDS)[number]
  readonly noticeSeconds: number
  readonly intervalSeconds: number
  readonly maturityTimestamp: number
}

/** Refuse exit terms whose kind lacks its figure, or that have a figure of another kind. */
export function checkExitTerms(terms: DeclaredExitTerms, context: z.RefinementCtx): void {
  const figures = {
    notice: ['notice', terms.noticeSeconds],
    interval: ['interval', terms.intervalSeconds],
    maturity: ['maturityTimestamp', terms.maturityTimestamp],
  } as const
  for (const [kind, [key, figure]] of Object.entries(figures)) {
    const used = kind === terms.exitTermKind
    if (used === figure > 0) continue
    const message = used
      ? `expected more than 0 with exitTermKind ${terms.exitTermKind}`
      : `expected 0 with exitTermKind ${terms.exitTermKind}`
    context.addIssue({ code: 'custom', path: [key], message })
  }
}

/** Whether each item of a list has a key of its own. Pure. */
export const once = <T>(list: readonly T[], keyOf: (item: T) => string): boolean =>
  new Set(list.map(keyOf)).size === list.length
