import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from 'viem'
import { z } from 'zod'
import { checkYaml } from '../../config/check.ts'
import { loadYaml } from '../../config/yaml.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { deployment } from '../../service/contract/deployment.ts'
import { addr } from '../../service/contract/scalars.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { GivenPlace } from '../target/place.ts'

/** An address of a keeper's run configuration, lower case, as a person knows it: by its name there, by its symbol, or by its role. */
export type NamedAddress = { readonly name: string; readonly address: Address }

/** What of a keeper's own an input may name. */
export type OwnAddresses = {
  /** By the name of a member, the likeliest first; empty where nothing is known. */
  readonly of: (member: string) => readonly NamedAddress[]
  /** Whatever else a policy may list: signers, those of other roles first, and all that is pinned. */
  readonly others: readonly NamedAddress[]
}

/** A run configuration as an example is written by it. */
export type OwnConfig = {
  readonly file: string
  readonly own: OwnAddresses
  /** Of the role; null where it is not configured. */
  readonly signer: Address | null
  /** Each by its role. */
  readonly signers: readonly NamedAddress[]
  readonly vaults: readonly NamedAddress[]
}

const held = z.looseObject({ address: addr })
const known = z.looseObject({
  deployment: deployment.optional(),
  agents: z
    .array(
      z.looseObject({
        role: z.string(),
        signer: z.looseObject({ kms: held.optional(), keystore: held.optional() }),
      }),
    )
    .default([]),
})

/** Contracts that have no list of their own, by what their members and most of their names say. */
const CONTRACTS: readonly (readonly [member: RegExp, name: RegExp])[] = [
  [/^(channel|wrapper)Address$/, /channel/i],
  [/^acquisitionAddress$/, /acquisition/i],
  [/^auctionAddress$/, /auction/i],
  [/^rfqAddress$/, /rfq/i],
  [/^venueAddress$/, /exit|pool|venue/i],
  [/^oracleAddress$/, /navOracle/i],
]
/** Members that are the signer of who submits. */
const ONESELF = /^(receiver|recipient|owner|manager)Address$/
/** Types that give something to somebody else: to oneself they would do nothing. */
const TO_ANOTHER: ReadonlySet<WorkflowType | undefined> = new Set([
  'role.lender.vaultShareMobilityInvestorAction',
  'role.vault_owner.vaultOwnerTransferUpdate',
])

/**
 * Read what the run configuration at a place names: no secret has to be there. Null where there is none.
 * @param role whose signer receives; null for nobody's.
 * @throws RolekeeperError what reading the file throws, and `config.invalid`.
 */
export function ownConfigAt(
  { config, directory }: GivenPlace,
  role: string | null,
  type?: WorkflowType,
): OwnConfig | null {
  const file = config ?? join(directory ?? DEFAULT_DIRECTORY, 'run.yaml')
  if (config === undefined && !existsSync(file)) return null
  const { deployment: pins, agents } = checkYaml(loadYaml(file), known)
  const signers = agents.flatMap(({ role: name, signer: { kms, keystore } }): readonly NamedAddress[] => {
    const address = (kms ?? keystore)?.address
    return address === undefined ? [] : [{ name, address }]
  })
  const mine = signers.filter(({ name }) => name === role)
  const theirs = signers.filter(({ name }) => name !== role)
  const assets = (pins?.assets ?? []).map(({ symbol: name, address }) => ({ name, address }))
  const [vaults, contracts] = [called(pins?.vaults), called(pins?.contracts)]
  const [markets, funds] = [called(pins?.markets), called(pins?.funds)]
  const lists: readonly (readonly [RegExp, readonly NamedAddress[]])[] = [
    [/^vaultAddress$/, vaults],
    [/^marketAddress(es)?$/, markets],
    [/^fundAddress$/, funds],
    [/^(base|quote)?[aA]ssetAddress$/, assets],
    ...CONTRACTS.map(([member, name]) => [member, contracts.filter((one) => name.test(one.name))] as const),
    ...(TO_ANOTHER.has(type) ? ([[/^(recipient|newOwner)Address$/, theirs]] as const) : []),
    [ONESELF, mine],
    [/^resellerAddress$/, signers.filter(({ name }) => name === 'partner')],
    ...signers.map((one) => [new RegExp(`^${one.name}Address$`), [one]] as const),
  ]
  const others = [...theirs, ...mine, ...vaults, ...markets, ...funds, ...assets, ...contracts]
  const of = (member: string) => lists.find(([pattern]) => pattern.test(member))?.[1] ?? []
  return { file, own: { of, others }, signer: mine[0]?.address ?? null, signers, vaults }
}

const called = (
  list: readonly { readonly name?: string | undefined; readonly address: Address }[] = [],
): readonly NamedAddress[] => list.map(({ name, address }) => ({ name: name ?? address, address }))
