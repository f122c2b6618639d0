import { setTimeout as sleep } from 'node:timers/promises'
import { stringToHex } from 'viem'
import type { Json } from '../shape-check.ts'
import { createKmsWallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'

/** The reporter states the value that stands, as of now. */
export const NAV_REPORTER: Story = {
  types: ['role.nav_reporter.navReportSignAndSubmit'],
  play: async ({ world, carry }) => {
    const { chain } = world
    const wallet = createKmsWallet(world.info, 'nav-reporter')
    const last = await newestReport(world)
    const oracleAddress: `0x${string}` = `0x${String(last.oracleAddress).slice(2)}`
    const reportType = String(last.reportType)
    const { timestamp } = await chain.client.getBlock()
    await carry('role.nav_reporter.navReportSignAndSubmit', {
      wallet,
      input: {
        oracleAddress,
        assetAddress: last.asset,
        reportType,
        value: last.value,
        decimals: last.decimals,
        valuationTimestamp: String(timestamp),
        revision: 0,
        revisionLabel: 'witnessed',
      },
      read: () => latestValuation(oracleAddress, reportType),
      moved: (before, after) => after === timestamp && after > before,
    })
    async function latestValuation(address: `0x${string}`, type: string): Promise<bigint> {
      const { valuationTime } = await chain.client.readContract({
        address,
        abi: LATEST,
        functionName: 'latest',
        args: [stringToHex(type, { size: 32 })],
      })
      return valuationTime
    }
  },
}

/** A young sandbox takes a moment to show its first reports. */
async function newestReport(world: World): Promise<Json> {
  const deadline = Date.now() + REPORT_MS_MAX
  while (Date.now() < deadline) {
    const [newest] = itemsOf(await world.ask('GET /v1/nav-reports', {}))
    if (newest !== undefined) return newest
    await sleep(POLL_MS)
  }
  throw new Error('GET /v1/nav-reports lists nothing')
}

const REPORT_MS_MAX = 20_000
const POLL_MS = 300

const LATEST = [
  {
    type: 'function',
    name: 'latest',
    stateMutability: 'view',
    inputs: [{ name: 'reportType', type: 'bytes32' }],
    outputs: [
      {
        name: 'accepted',
        type: 'tuple',
        components: [
          { name: 'value', type: 'uint256' },
          { name: 'valuationTime', type: 'uint64' },
          { name: 'revision', type: 'uint32' },
          { name: 'submittedAt', type: 'uint64' },
          { name: 'reporter', type: 'address' },
        ],
      },
    ],
  },
] as const
