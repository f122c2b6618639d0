import type { Address } from 'viem'
import type { ApplicationEvents } from './application-events.ts'
import { isObject, type Json } from './shape-check.ts'
import { ADMISSION_EVENTS, FAUCET_EVENTS } from './transcription/events.ts'
import { createWallet, type Wallet } from './wallet.ts'
import { itemsOf, type World } from './world.ts'

/** Admit a wallet to the sandbox and wait until the last of its stage events. */
export async function admit(world: World, wallet: Wallet): Promise<void> {
  const headers = { ...world.secret, ...(await world.signIn(wallet)) }
  const { id } = await world.ask('POST /v1/sandbox/admissions', headers, {})
  await arrived(world.events, ADMISSION_EVENTS, String(id))
}

/** Claim an asset of the sandbox, and gas with it. Returns the wallet's balance. */
export async function fund(world: World, wallet: Wallet, assetAddress: Address): Promise<bigint> {
  const headers = { ...world.secret, ...(await world.signIn(wallet)) }
  const { id } = await world.ask('POST /v1/sandbox/faucet-claims', headers, { assetAddress })
  await arrived(world.events, FAUCET_EVENTS, String(id))
  return world.chain.number(assetAddress, 'balanceOf(address)', wallet.address)
}

/** Make a wallet that may act, with some of each asset. */
export async function newcomer(world: World, ...assets: readonly Address[]): Promise<Wallet> {
  const wallet = createWallet()
  await admit(world, wallet)
  for (const asset of assets) await fund(world, wallet, asset)
  return wallet
}

async function arrived(events: ApplicationEvents, stages: readonly string[], id: string): Promise<void> {
  const last = stages.at(-1) ?? ''
  if ((await events.find(last, id)) === null) throw new Error(`no event ${last} names ${id}`)
  for (const stage of stages)
    if ((await events.published(stage, id)) === null) throw new Error(`no event ${stage} names ${id}`)
}

/** An address of the deployment, by its name in sandbox.json. */
export function placeOf({ info }: World, name: string): Address {
  const address = info.contracts[name]
  if (address === undefined) throw new RangeError(`sandbox.json names no contract ${name}`)
  return address
}

/** Ask for rows over GraphQL. Assumed: the names and arguments of the queries. */
export async function query(world: World, name: string, selection: string): Promise<readonly Json[]> {
  const { data, errors } = await world.ask('POST /graphql', world.secret, { query: `{ ${selection} }` })
  const found = isObject(data) ? data[name] : undefined
  if (isObject(found)) return itemsOf(found)
  throw new Error(`GraphQL gave no ${name}: ${JSON.stringify(errors)}`)
}
