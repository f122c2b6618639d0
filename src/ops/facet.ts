import type { RolekeeperError } from '../errors.ts'

/** What can be well or not, each by itself: the process's own, what it stands on, and what each role owes. */
export const FACETS = [
  'pause',
  'kill',
  'journal',
  'audit',
  'disk',
  'output',
  'clock',
  'secrets',
  'seats',
  'chain',
  'node',
  'service',
  'stream',
  'key',
  'gas',
  'signer',
  'nonces',
  'role',
  'duty',
  'budget',
  'approvals',
  'alarms',
] as const
export type FacetName = (typeof FACETS)[number]

/** `warning`: it works, and somebody should look. `failing`: what it is there for is not done. */
export const FACET_STATES = ['ok', 'warning', 'failing'] as const
type FacetState = (typeof FACET_STATES)[number]

/** What is found of one facet at one look. */
export type Finding = {
  readonly facet: FacetName
  /** Which one: a node's name, a role; '' where there is one. */
  readonly about: string
} & (
  | { readonly state: 'ok'; readonly message: string }
  | {
      readonly state: 'warning' | 'failing'
      /** What is wrong in one sentence, with its values, limits and fix. */
      readonly error: RolekeeperError
      /** Said by others: an alarm has been raised, or a person did it. */
      readonly isSaid?: true
      /** True at once: what a person did, and what is written down. */
      readonly isSure?: true
      /** As it is in the first seconds of every start. */
      readonly isBeginning?: true
    }
)

/** A facet as it stands. */
export type Facet = {
  readonly facet: FacetName
  readonly about: string
  readonly state: FacetState
  /** `ok`, or the name of what is wrong. */
  readonly code: string
  readonly message: string
  readonly fix?: string
  /** The facet that it suffers from, as {@link facetKey} writes it: mend that one. */
  readonly because?: string
  /** Unix milliseconds. */
  readonly sinceMs: number
}

/** Name a facet: `service`, `node/read-1`, `duty/liquidator`. Pure. */
export const facetKey = ({ facet, about }: Pick<Facet, 'facet' | 'about'>): string =>
  about === '' ? facet : `${facet}/${about}`

/** The facets that are failing, what others suffer from first; what suffers comes last. Pure. */
export const failing = <F extends Pick<Facet, 'state'> & { readonly because?: string | undefined }>(
  facets: readonly F[],
): readonly F[] =>
  facets
    .filter(({ state }) => state === 'failing')
    .toSorted((a, b) => Number(a.because !== undefined) - Number(b.because !== undefined))
