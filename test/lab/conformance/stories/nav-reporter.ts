import { parseAbi, stringToHex } from 'viem'
import { placeOf } from '../people.ts'
import { createKmsWallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'

const ORACLE = parseAbi([
  'struct Accepted { uint256 value; uint64 valuationTime; uint32 revision; uint64 submittedAt; address reporter; }',
  'function latest(bytes32 reportType) view returns (Accepted accepted)',
  'function asset() view returns (address)',
  'function decimals() view returns (uint8)',
])

/** The reporter states the value that stands, or one to one when none does, as of now. */
export const NAV_REPORTER: Story = {
  types: ['role.nav_reporter.navReportSignAndSubmit'],
  play: async ({ world, carry }) => {
    const { client } = world.chain
    const wallet = createKmsWallet(world.info, 'nav-reporter')
    const oracle = { address: placeOf(world, 'fundNavOracle'), abi: ORACLE } as const
    const reportType = 'nav'
    const latest = () =>
      client.readContract({
        ...oracle,
        functionName: 'latest',
        args: [stringToHex(reportType, { size: 32 })],
      })
    const [{ value }, assetAddress, decimals, { timestamp }] = await Promise.all([
      latest(),
      client.readContract({ ...oracle, functionName: 'asset' }),
      client.readContract({ ...oracle, functionName: 'decimals' }),
      client.getBlock(),
    ])
    await carry('role.nav_reporter.navReportSignAndSubmit', {
      wallet,
      input: {
        oracleAddress: oracle.address,
        assetAddress,
        reportType,
        value: String(value === 0n ? 10n ** BigInt(decimals) : value),
        decimals,
        valuationTimestamp: String(timestamp),
        revision: 0,
        revisionLabel: 'witnessed',
      },
      read: async () => (await latest()).valuationTime,
      moved: (before, after) => after === timestamp && after > before,
    })
  },
}
