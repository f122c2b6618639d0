import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, type Hex, maxUint256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assetAbi } from '../../../../sandbox/contracts/abis.ts'
import type { RecordKind } from '../../../../sandbox/service/records.ts'
import { startService } from '../../../../sandbox/service/service.ts'
import { systemClock } from '../../../../src/clock.ts'
import {
  CREDENTIAL_HEADERS,
  type WorkflowProgress,
  workflowProgress,
} from '../../../../src/service/contract/assumptions.ts'
import {
  type PreparedWorkflow,
  preparedWorkflow,
} from '../../../../src/service/contract/prepared-workflow.ts'
import {
  walletChallenge,
  walletSession,
} from '../../../../src/service/contract/wallet-session-assumptions.ts'
import type { WorkflowInput, WorkflowType } from '../../../../src/service/contract/workflow-types.ts'
import { newDirectory } from '../../../support/directory.ts'
import { poorDonor } from '../../../support/donor.ts'
import { createScene, SENT } from '../../indexer/scene.ts'
import { newKey, secretHeaders } from '../fixture.ts'

const CONTROL_TOKEN = 'control-token-of-the-workflow-scene'

export type WorkflowScene = Awaited<ReturnType<typeof createWorkflowScene>>

/** A real chain with the sandbox deployed, its indexer and its service: workflows are prepared over HTTP. */
export async function createWorkflowScene() {
  const directory = newDirectory()
  const scene = await createScene()
  const canonical = await scene.index()
  const { client, deployment } = scene
  const { chainId } = deployment
  const crashes: unknown[] = []
  const service = await startService({
    canonical,
    deployment,
    entities: [],
    rpcUrl: scene.chain.rpcUrl,
    clock: systemClock,
    dbFile: join(directory, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: { secretKey: 'sk_test_0123456789abcdef', publishableKey: 'pk', origins: [] },
    donor: poorDonor,
    controlToken: CONTROL_TOKEN,
    onCrash: (error) => crashes.push(error),
  })

  const ask = async (
    path: string,
    body?: object,
    credentials: Record<string, string> = secretHeaders,
  ): Promise<unknown> => {
    const headers = { ...credentials, 'content-type': 'application/json', 'idempotency-key': newKey() }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${service.url}${path}`, init)
    const json = await response.json()
    if (response.status !== 200) throw new TypeError(`${path}: ${response.status} ${JSON.stringify(json)}`)
    return json
  }
  const prepare = async <T extends WorkflowType>(
    workflowType: T,
    principalAddress: Address | undefined,
    input: WorkflowInput<T>,
    credentials?: Record<string, string>,
  ): Promise<PreparedWorkflow> => {
    await scene.caughtUp(canonical)
    const body = { workflowType, chainId, principalAddress, input }
    return preparedWorkflow.parse(await ask('/v1/workflows/prepare', body, credentials))
  }

  return {
    scene,
    canonical,
    crashes,
    ask,
    prepare,
    /** Prove a wallet by its key: the credentials of its session. */
    session: async (key: Hex): Promise<Record<string, string>> => {
      const account = privateKeyToAccount(key)
      const asked = { address: account.address, chainId }
      const challenge = walletChallenge.parse(await ask('/v1/wallet-sessions/challenges', asked))
      const signature = await account.signMessage({ message: challenge.message })
      const proof = { challengeId: challenge.challengeId, signature }
      const { session } = walletSession.parse(await ask('/v1/wallet-sessions/confirm', proof))
      return { [CREDENTIAL_HEADERS.walletSession]: session }
    },
    /** Review what lives at the service, as who runs the sandbox. */
    review: async (kind: RecordKind, key: string, status: string): Promise<void> => {
      const control = { authorization: `Bearer ${CONTROL_TOKEN}` }
      const headers = { ...control, 'content-type': 'application/json' }
      const body = JSON.stringify({ kind, key, status })
      const url = `${service.url}/sandbox-control/reviews`
      const response = await fetch(url, { method: 'PUT', headers, body })
      if (response.status !== 200) throw new TypeError(`review: ${response.status} ${await response.text()}`)
    },
    /** Prepare what must be refused, and say why it is. */
    reasons: async <T extends WorkflowType>(
      type: T,
      principal: Address | undefined,
      input: WorkflowInput<T>,
      credentials?: Record<string, string>,
    ): Promise<readonly string[]> =>
      (await prepare(type, principal, input, credentials)).preflight.blockedReasons,
    /** Send what was prepared, register it, and say how far it is when two blocks are on top. */
    carryOut: async (
      { requestId, preflight, transactions }: PreparedWorkflow,
      account: Address,
    ): Promise<WorkflowProgress> => {
      if (preflight.status !== 'passed') throw new TypeError(preflight.blockedReasons.join(', '))
      for (const { order, target, calldata } of transactions) {
        const sent = { chain: null, account, to: target, data: calldata, gas: 8_000_000n } as const
        const txHash: Hex = await client.sendTransaction(sent)
        await ask(`/v1/workflows/${requestId}/transactions`, { order, chainId, txHash })
        await client.waitForTransactionReceipt({ hash: txHash })
      }
      // A block at a time: a condition is looked at on each.
      for (let block = 0; block < 3; block++) {
        await scene.caughtUp(canonical)
        await service.idle()
        if (block < 2) await client.mine({ blocks: 1 })
      }
      return workflowProgress.parse(await ask(`/v1/workflows/${requestId}`))
    },
    /** Make an account with these balances, by asset; each spender may take them all. */
    trader: async (
      balances: Partial<Record<'sUSD' | 'sBTC' | 'sETH', bigint>>,
      spenders: readonly Address[] = [],
    ): Promise<Address> => {
      const trader = await scene.actor()
      for (const name of ['sUSD', 'sBTC', 'sETH'] as const) {
        const token = { address: scene.at(name), abi: assetAbi, ...SENT } as const
        const assets = balances[name] ?? 0n
        if (assets === 0n) continue
        const minting = { ...token, account: deployment.admin, functionName: 'mint' } as const
        await client.writeContractSync({ ...minting, args: [trader, assets] })
        for (const spender of spenders) {
          const approving = { ...token, account: trader, functionName: 'approve' } as const
          await client.writeContractSync({ ...approving, args: [spender, maxUint256] })
        }
      }
      return trader
    },
    /** Mine a block of this time. */
    mineAt: async (timestamp: bigint): Promise<void> => {
      await client.setNextBlockTimestamp({ timestamp })
      await client.mine({ blocks: 1 })
      await scene.caughtUp(canonical)
    },
    stop: async () => {
      await service.stop()
      await canonical.stop()
      await scene.stop()
      rmSync(directory, { recursive: true })
    },
  }
}
