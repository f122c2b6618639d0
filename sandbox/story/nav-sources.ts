import { mkdirSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  formatUnits,
  http,
} from 'viem'
import { TO_CHAIN } from '../chain/to-chain.ts'
import { fundLensAbi, lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { writePrivateFile } from '../files.ts'
import { SERVER_OPTIONS } from '../server-options.ts'
import { badSpellS, type Scenario } from './scenarios.ts'
import { roll } from './story.ts'
import type { SideStory } from './weather.ts'

/** What the sources of values are made of. */
type SourceOptions = {
  readonly rpcUrl: string
  readonly deployment: Deployment
  readonly seed: number
  readonly scenario: Scenario
  /** Gets the files of the custodians. */
  readonly directory: string
}

/** A source as a run configuration names it; files are relative to the sandbox's directory. */
export type SourcePin = { readonly name: string } & ({ readonly url: string } | { readonly file: string })

/** The sources that run. */
export type NavSources = {
  readonly pins: readonly SourcePin[]
  /** Says the values anew every few ticks; it calls nothing. */
  readonly story: SideStory
  readonly stop: () => Promise<void>
}

/** What they say: quote assets for one whole share, times 10^18. */
type Valued = { readonly asset: Address; readonly valueWad: bigint; readonly asOf: string }

const SUBJECTS = ['recoveryFund', 'primeVault'] as const
type Subject = (typeof SUBJECTS)[number]

const FOLDER = 'nav'
const EVERY_TICKS = 5
/** How far an honest source may be off, either way. */
const NOISE_BPS = 8
/** Values that a valuer still has in its file. */
const HISTORY = 50
const BPS = 10_000n
const WAD_IN_MICROS = 10n ** 12n
/** Shares of a vault on sUSD: six decimals and six more. */
const VAULT_SHARE = 10n ** 12n

/**
 * Start who says what the recovery fund and the Prime vault are worth a share, every few seconds: an administrator
 * over HTTP, a custodian and a valuer in files, each with a small error of its own. Before there are shares the first answers 503
 * and the others write nothing; while a holding's market has no price all repeat what they said last. In a bad spell
 * of the scenario the fund's administrator is off by its factor.
 */
export async function startNavSources(options: SourceOptions): Promise<NavSources> {
  const folder = join(options.directory, FOLDER)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const known = new Map<Subject, Valued>()
  const valuations: Record<Subject, object[]> = { recoveryFund: [], primeVault: [] }
  const server = await serveAdministrator((subject) => known.get(subject))
  const { port } = server.address() as AddressInfo
  const pinsOf = (subject: Subject, name: string): readonly SourcePin[] => [
    { name: `${name}Administrator`, url: `http://127.0.0.1:${port}/${FOLDER}/${subject}.json` },
    { name: `${name}Custodian`, file: `${FOLDER}/${subject}.csv` },
    { name: `${name}Valuer`, file: `${FOLDER}/${subject}.json` },
  ]
  return {
    pins: [...pinsOf('recoveryFund', 'fund'), ...pinsOf('primeVault', 'vault')],
    story: createValuations(options, (subject, valued, custodianMicros, valuerWad) => {
      known.set(subject, valued)
      const { asOf } = valued
      writePrivateFile(join(folder, `${subject}.csv`), `asOf,microsPerShare\n${asOf},${custodianMicros}\n`)
      const list = [...valuations[subject], { asOf, perShare: formatUnits(valuerWad, 18) }].slice(-HISTORY)
      valuations[subject] = list
      writePrivateFile(join(folder, `${subject}.json`), JSON.stringify({ valuations: list }))
    }),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

type Say = (subject: Subject, administrator: Valued, custodianMicros: bigint, valuerWad: bigint) => void

/** Value both subjects every few ticks, as each source would. Calls nothing. */
function createValuations({ rpcUrl, deployment, seed, scenario }: SourceOptions, say: Say): SideStory {
  const read = createTruth(rpcUrl, deployment)
  /** The truth with the error of who says it at a moment. */
  const statement = (subject: Subject, source: string, trueWad: bigint, tick: number): bigint => {
    const error = Math.round((2 * roll(seed, subject, source, tick) - 1) * NOISE_BPS)
    return (trueWad * (BPS + BigInt(error))) / BPS
  }
  let valueAtTick = 0
  return async (nowS, tick) => {
    if (tick < valueAtTick) return []
    valueAtTick = tick + EVERY_TICKS
    const values = await read()
    const asOf = `${new Date(Number(nowS) * 1_000).toISOString().slice(0, 19)}Z`
    const isOff = scenario.sourceFactor !== null && badSpellS(scenario, tick) > 0
    for (const subject of SUBJECTS) {
      const trueWad = values[subject]
      if (trueWad === null) continue
      const asset = deployment.contracts[subject].address
      const factor = BigInt(isOff && subject === 'recoveryFund' ? (scenario.sourceFactor ?? 1) : 1)
      const administrator = {
        asset,
        valueWad: statement(subject, 'administrator', trueWad, tick) * factor,
        asOf,
      }
      const custodianMicros = statement(subject, 'custodian', trueWad, tick) / WAD_IN_MICROS
      say(subject, administrator, custodianMicros, statement(subject, 'valuer', trueWad, tick))
    }
    return []
  }
}

/** Read what a share of each subject is worth, times 10^18; null where the chain has no answer. */
function createTruth(rpcUrl: string, { contracts }: Deployment) {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  const { recoveryFund, primeVault, fundLens } = contracts
  const lens = { address: fundLens.address, abi: fundLensAbi } as const
  const vault = { address: primeVault.address, abi: lendingVaultAbi } as const
  return async (): Promise<Readonly<Record<Subject, bigint | null>>> => {
    const [fundWad, vaultAssets] = await Promise.all([
      reader
        .readContract({ ...lens, functionName: 'shareValueWad', args: [recoveryFund.address] })
        .catch(nullIfReverted),
      reader.readContract({ ...vault, functionName: 'convertToAssets', args: [VAULT_SHARE] }),
    ])
    return { recoveryFund: fundWad, primeVault: vaultAssets * WAD_IN_MICROS }
  }
}

/** Answer GET /nav/SUBJECT.json with what the administrator said last, on a free port of this machine. */
async function serveAdministrator(valuedOf: (subject: Subject) => Valued | undefined): Promise<Server> {
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const subject = SUBJECTS.find((name) => request.url === `/${FOLDER}/${name}.json`)
    if (request.method !== 'GET' || subject === undefined)
      return answer(response, 404, { error: 'not_found' })
    const valued = valuedOf(subject)
    if (valued === undefined) return answer(response, 503, { error: 'no_value' })
    const { asset, valueWad, asOf } = valued
    answer(response, 200, { asset, perShare: { value: formatUnits(valueWad, 18), asOf } })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return server
}

function nullIfReverted(error: unknown): null {
  if (error instanceof BaseError && error.walk((e) => e instanceof ContractFunctionRevertedError) !== null) {
    return null
  }
  throw error
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
