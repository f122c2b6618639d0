import { randomUUID } from 'node:crypto'
import { toHex } from 'viem'
import type { Target } from './calls.ts'
import { eventually } from './eventually.ts'
import { admit, fund, placeOf } from './people.ts'
import { isObject, type Json } from './shape-check.ts'
import type { Credential } from './transcription/operations.ts'
import { itemsOf, type World } from './world.ts'

const text = (value: unknown) => String(value)

/** Make a name for what derives a slug from it and takes none twice. */
export const unusedName = () => `Witness ${randomUUID().slice(0, 8)}`

/** Have events delivered to our receiver until one has arrived; they come with every block. */
export async function arrivedDelivery(world: World): Promise<string> {
  const { id, signingSecret } = await world.ask('POST /v1/webhook-endpoints', world.secret, {
    url: world.receiver.url,
  })
  world.receiver.expect(text(signingSecret))
  const arrived = async () => {
    const rows = itemsOf(await world.ask('GET /v1/webhook-deliveries', world.secret))
    return rows.find(({ endpointId, status }) => endpointId === id && status === 'delivered')
  }
  return text((await eventually(arrived, 'no delivery arrived')).id)
}

/** A new organization has no members, and an application of its own whose sandbox may be reset. */
export async function newOrganization({ ask }: World): Promise<Target> {
  const { secretKey } = await ask('POST /v1/organizations', {}, { name: unusedName() })
  return { secretKey: text(secretKey), body: {} }
}

/** The events that an application has got so far, by type. */
export async function eventTypesOf({ ask }: World, { secretKey }: Target): Promise<readonly string[]> {
  const types: string[] = []
  let after = ''
  for (;;) {
    const page = await ask(`GET /v1/events?limit=100${after}`, { authorization: `Bearer ${secretKey}` })
    const rows = itemsOf(page)
    types.push(...rows.map(({ event }) => (isObject(event) ? text(event.type) : '')))
    if (!isObject(page.pageInfo) || page.pageInfo.hasMore !== true) return types
    after = `&cursor=${encodeURIComponent(text(rows.at(-1)?.cursor))}`
  }
}

/** A workflow that changes nothing until it is signed: the wallet of the rows deposits a little into a vault. */
export const prepareBody = ({ info, wallet }: World): Json => ({
  workflowType: 'deposit',
  chainId: info.chainId,
  principalAddress: wallet.address,
  input: {
    vaultAddress: info.contracts.primeVault,
    assets: '1000000',
    receiverAddress: wallet.address,
    minShares: '1',
  },
})

const fundings = new WeakMap<World, Promise<bigint>>()

/** Admit and fund the wallet of the rows, once. */
export function funded(world: World): Promise<bigint> {
  const funding =
    fundings.get(world) ??
    admit(world, world.wallet).then(() => fund(world, world.wallet, placeOf(world, 'sUSD')))
  fundings.set(world, funding)
  return funding
}

/** Prepare a workflow as the caller that the row speaks for. Only that one's application may see it. */
export async function preparedBy(world: World, credentials: readonly Credential[]): Promise<string> {
  await funded(world)
  const presenting = await Promise.all(credentials.map(world.service.present))
  const headers: Record<string, string> = Object.assign({}, ...presenting)
  return text((await world.ask('POST /v1/workflows/prepare', headers, prepareBody(world))).requestId)
}

/** Registers a hash for the first intent; nothing need be mined for it to be tracked. */
export const registration = ({ info }: World): Json => ({
  order: 0,
  chainId: info.chainId,
  txHash: toHex(crypto.getRandomValues(new Uint8Array(32))),
})
