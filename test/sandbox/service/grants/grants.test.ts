import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTransactions, type Transactions } from '../../../../sandbox/chain/transactions.ts'
import { assetAbi, eligibilityRegistryAbi } from '../../../../sandbox/contracts/abis.ts'
import type { Canonical } from '../../../../sandbox/indexer/canonical.ts'
import { createDonor } from '../../../../sandbox/service/grants/donor.ts'
import type { Donor } from '../../../../sandbox/service/grants/grants.ts'
import { type SandboxService, startService } from '../../../../sandbox/service/service.ts'
import {
  faucetClaim,
  SANDBOX_STAGES,
  sandboxAdmission,
} from '../../../../src/service/contract/tenant-resources.ts'
import { newDirectory } from '../../../support/directory.ts'
import { createScene, type Scene } from '../../indexer/scene.ts'
import { movableClock, newKey, secretHeaders } from '../fixture.ts'

type Json = Record<string, unknown>
/** What a test does to the donor. */
let donor: Donor
let scene: Scene
let canonical: Canonical
let service: SandboxService
let transactions: Transactions
const directory = newDirectory()
const clock = movableClock()
const crashes: unknown[] = []

const start = () =>
  startService({
    canonical,
    deployment: scene.deployment,
    entities: [],
    rpcUrl: scene.chain.rpcUrl,
    clock,
    dbFile: join(directory, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: { secretKey: 'sk_test_0123456789abcdef', publishableKey: 'pk', origins: [] },
    donor: { send: (...args) => donor.send(...args), resend: (signed) => donor.resend(signed) },
    onCrash: (error) => crashes.push(error),
  })

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  const { rpcUrl, chainId } = scene.chain
  transactions = createTransactions(rpcUrl, chainId)
  donor = createDonor(rpcUrl, scene.deployerKey, transactions)
  service = await start()
})
afterAll(async () => {
  await service.stop()
  await canonical.stop()
  await scene.stop()
  rmSync(directory, { recursive: true })
})

async function ask(path: string, body: object | null, headers: Record<string, string>) {
  const init = {
    headers: {
      'content-type': 'application/json',
      'idempotency-key': newKey(),
      ...secretHeaders,
      ...headers,
    },
    ...(body === null ? {} : { method: 'POST', body: JSON.stringify(body) }),
  }
  const response = await fetch(`${service.url}${path}`, init)
  return { status: response.status, json: (await response.json()) as Json }
}

async function newWallet(account = privateKeyToAccount(generatePrivateKey())) {
  const wallet = account.address.toLowerCase() as Address
  const asked = { address: wallet, chainId: scene.deployment.chainId }
  const challenge = await ask('/v1/wallet-sessions/challenges', asked, {})
  const signature = await account.signMessage({ message: String(challenge.json.message) })
  const confirm = { challengeId: challenge.json.challengeId, signature }
  const { json } = await ask('/v1/wallet-sessions/confirm', confirm, {})
  return { account, wallet, header: { 'x-svc-wallet-session': String(json.session) } }
}

/** Let blocks pass until every grant that can end has ended. */
async function settle(): Promise<void> {
  for (let i = 0; i < 8; i += 1) {
    await service.idle()
    await scene.client.mine({ blocks: 1 })
    await scene.caughtUp(canonical)
  }
  await service.idle()
}

async function newAdmittedWallet() {
  const wallet = await newWallet()
  await ask('/v1/sandbox/admissions', {}, wallet.header)
  await settle()
  return wallet
}

/** The stages that were told of a grant, oldest first. */
async function stagesOf(id: unknown): Promise<readonly string[]> {
  const types: string[] = []
  for (let query = ''; ; ) {
    const { json } = await ask(`/v1/events${query}`, null, {})
    const events = (json.items as { event: { type: string; subject: string } }[]).map(({ event }) => event)
    types.push(...events.filter(({ subject }) => subject === id).map(({ type }) => type))
    const { hasMore, nextCursor } = json.pageInfo as { hasMore: boolean; nextCursor: string }
    if (!hasMore) return types
    query = `?cursor=${nextCursor}`
  }
}
const allStages = (prefix: string) => SANDBOX_STAGES.map((stage) => `${prefix}.${stage}`)

const balanceOf = (wallet: Address) =>
  scene.client.readContract({
    address: scene.at('sUSD'),
    abi: assetAbi,
    functionName: 'balanceOf',
    args: [wallet],
  })

const ONE_CLAIM = 100_000_000_000n

describe('an admission', () => {
  it('authorises the wallet on the chain, tells every stage once in order, and welcomes it', async () => {
    const { wallet, header } = await newWallet()
    expect((await ask('/v1/sandbox/faucet-claims', {}, header)).json.code).toBe('wallet_not_admitted')
    const { json } = await ask('/v1/sandbox/admissions', {}, header)
    expect(sandboxAdmission.strict().parse(json)).toMatchObject({
      walletAddress: wallet,
      status: 'requested',
    })
    await settle()
    expect(await stagesOf(json.id)).toEqual(allStages('sandbox.admission'))
    const scopes = [
      ['liquidate', 'ethMarket'],
      ['selfLaunch', 'fundFactory'],
      ['subscribe', 'recoveryFund'],
    ] as const
    for (const [action, scope] of scopes) {
      const bytes = `0x${Buffer.from(action.padEnd(32, '\0')).toString('hex')}` as const
      const args = [wallet, bytes, scene.at(scope)] as const
      const read = { address: scene.at('registry'), abi: eligibilityRegistryAbi } as const
      expect(await scene.client.readContract({ ...read, functionName: 'isAuthorized', args })).toBe(true)
    }
    const messages = await ask('/v1/messaging', null, header)
    expect(messages.json.items).toMatchObject([{ subject: 'Welcome to the sandbox' }])
    const again = await ask('/v1/sandbox/admissions', {}, header)
    expect(again.json).toMatchObject({ id: json.id, status: 'final_success' })
  })
})

describe('a faucet claim', () => {
  it('mints the asset and sends gas, and tells every stage once in order', async () => {
    const { wallet, header } = await newAdmittedWallet()
    const { json } = await ask('/v1/sandbox/faucet-claims', {}, header)
    const amount = ONE_CLAIM.toString()
    expect(faucetClaim.strict().parse(json)).toMatchObject({ walletAddress: wallet, amount })
    await settle()
    expect(await stagesOf(json.id)).toEqual(allStages('sandbox.faucet.claim'))
    expect(await balanceOf(wallet)).toBe(ONE_CLAIM)
    expect(await scene.client.getBalance({ address: wallet })).toBe(parseEther('1'))
    const foreign = { assetAddress: wallet }
    expect((await ask('/v1/sandbox/faucet-claims', foreign, header)).json.code).toBe('unknown_asset')
  })

  it('is made ten times a day by one wallet, and not once more, also when all come at once', async () => {
    const { account, wallet, header } = await newAdmittedWallet()
    const claim = () => ask('/v1/sandbox/faucet-claims', {}, header)
    const answers = await Promise.all(Array.from({ length: 11 }, claim))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429])
    expect(answers.find(({ status }) => status === 429)?.json).toMatchObject({
      code: 'faucet_quota',
      retryable: true,
    })
    await settle()
    expect(await balanceOf(wallet)).toBe(10n * ONE_CLAIM)
    clock.advance(86_400_000)
    const nextDay = await newWallet(account)
    expect((await ask('/v1/sandbox/faucet-claims', {}, nextDay.header)).status).toBe(200)
  })

  it.each(['before signing', 'before sending', 'before sending, and its nonces are taken'])(
    'gives once when the service dies %s',
    async (moment) => {
      const { wallet, header } = await newAdmittedWallet()
      const healthy = donor
      const dead = () => {
        throw new TypeError('dead')
      }
      donor = {
        ...healthy,
        send: async (calls, keep) => {
          if (moment === 'before signing') dead()
          return healthy.send(calls, (signed) => {
            keep(signed)
            dead()
          })
        },
      }
      const { json } = await ask('/v1/sandbox/faucet-claims', {}, header)
      await service.stop()
      donor = healthy
      if (moment.endsWith('taken')) {
        const calls = [1, 2].map(() => ({ to: wallet, data: '0x', value: 1n }) as const)
        await healthy.send(calls, () => {})
      }
      service = await start()
      await settle()
      expect(await stagesOf(json.id)).toEqual(allStages('sandbox.faucet.claim'))
      expect(await balanceOf(wallet)).toBe(ONE_CLAIM)
    },
  )
})
