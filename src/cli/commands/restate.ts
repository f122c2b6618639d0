import type { Address } from 'viem'
import type { RunConfig } from '../../config/config.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import { KEY } from '../orders/person-key.ts'
import type { FiledReport } from '../orders/restatement.ts'
import { configAt, runOrder } from '../orders/run-order.ts'
import { command, usageError } from '../parse/command.ts'
import { PLACE } from '../target/place.ts'

/** `rolekeeper restate`: correct the newest NAV report of an oracle, through the same pipeline and guard as any other. */
export const restate = command({
  name: 'restate',
  usage:
    'ORACLE --value VALUE --label TEXT [--type TYPE] [--shadow] [--config FILE | --directory DIR] [--json]',
  help: `Correct the newest report of a NAV oracle: its next revision, for the same valuation time. ORACLE is a name of
deployment.contracts; VALUE is what one whole share was worth, in whole quote assets. The NAV reporter's policy holds it for
approval, and its guard judges it, as any report.

  rolekeeper restate fundNavOracle --value 1.0213 --label "late invoice" --shadow`,
  options: {
    value: { help: 'what one whole share was worth', value: 'VALUE' },
    label: { help: 'why, in at most 64 bytes; the report carries it', value: 'TEXT' },
    type: { help: 'the report type (default: nav)', value: 'TYPE' },
    shadow: { help: 'say what would happen, and sign nothing' },
    ...PLACE,
    ...KEY,
    json: { help: 'print events as JSON, one object a line' },
  },
  argumentsMax: 1,
  run: async ({ value, label, type = 'nav', ...given }, [oracle], io) => {
    if (oracle === undefined) throw usageError('Say which oracle.', 'name one of deployment.contracts')
    if (value === undefined) throw usageError('--value is missing.', 'write what one whole share was worth')
    if (label === undefined || label === '' || Buffer.byteLength(label) > LABEL_BYTES_MAX) {
      throw usageError(`--label is missing or longer than ${LABEL_BYTES_MAX} bytes.`, 'say in short why')
    }
    if (!/^[a-z_]{1,32}$/.test(type)) throw usageError('--type is no report type.', 'write for example nav')
    const { restatementOf } = await import('../orders/restatement.ts')
    const place = { ...given, json: given.json === true }
    const reported = await readReported(await configAt(place, io), oracle, type)
    const submission = { ...restatementOf(reported, value, label), shadow: given.shadow === true }
    return runOrder(submission, place, io)
  },
})

const LABEL_BYTES_MAX = 64

async function readReported(config: RunConfig, name: string, reportType: string): Promise<FiledReport> {
  const oracle = config.deployment.contracts.find((contract) => contract.name === name)?.address
  if (oracle === undefined) {
    throw usageError(
      `The deployment pins no contract "${printable(name)}".`,
      `known: ${config.deployment.contracts.map((contract) => contract.name).join(', ')}`,
    )
  }
  const { NAV_ORACLE_VIEWS, reportTypeWord } = await import('../../../agents/protocol/nav.ts')
  const { createWave } = await import('../../../agents/protocol/reading.ts')
  const wave = createWave()
  const asset = wave.ask(NAV_ORACLE_VIEWS, oracle, 'asset', [])
  const decimals = wave.ask(NAV_ORACLE_VIEWS, oracle, 'decimals', [])
  const latest = wave.ask(NAV_ORACLE_VIEWS, oracle, 'latest', [reportTypeWord(reportType)])
  const answers = await callAll(config, wave.questions)
  const [ofAsset, inDecimals, last] = [asset(answers), decimals(answers), latest(answers)]
  if (ofAsset === null || inDecimals === null || last === null || last.submittedAt === 0n) {
    throw new RolekeeperError('restate.no_report', `${name} shows no ${reportType} report to correct.`, {
      fix: 'name a NAV oracle, and a report type that was reported.',
    })
  }
  return {
    oracle,
    asset: `0x${ofAsset.slice(2).toLowerCase()}`,
    decimals: inDecimals,
    reportType,
    value: last.value,
    valuationTimeS: last.valuationTime,
    revision: last.revision,
  }
}

async function callAll(
  config: RunConfig,
  calls: readonly { readonly to: Address; readonly data: `0x${string}` }[],
) {
  const { openNodes } = await import('../../keeper/startup/connect.ts')
  const { systemClock } = await import('../../clock.ts')
  const nodes = await openNodes(config, systemClock)
  try {
    const results = await nodes.calls(calls)
    return results.map((text) => (text === null ? { ok: false as const } : { ok: true as const, text }))
  } finally {
    await nodes.close()
  }
}
