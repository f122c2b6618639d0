import { stringToHex } from 'viem'
import { createKmsWallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'
import { itemsOf } from '../world.ts'

/** The reporter states the value that stands, as of now. */
export const NAV_REPORTER: Story = {
  types: ['role.nav_reporter.navReportSignAndSubmit'],
  play: async ({ world, carry }) => {
    const { chain } = world
    const wallet = createKmsWallet(world.info, 'nav-reporter')
    const [last] = itemsOf(await world.ask('GET /v1/nav-reports', {}))
    if (last === undefined) throw new Error('GET /v1/nav-reports lists nothing')
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
