import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agents as staffed } from '../../../agents/index.ts'
import { type NewConfig, newConfigText } from '../../config/new-config.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import { createFolder } from '../../journal/directory/lock.ts'
import { discover, type FoundContract, type FoundDeployment } from '../../keeper/policy-tools/discover.ts'
import { type Ask, newPolicy, type Question } from '../../keeper/policy-tools/new.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { readKmsAddress } from '../../sign/kms.ts'
import { answersOf, createAsk } from '../ask.ts'
import { configAt } from '../orders/run-order.ts'
import { command, type Io, usageError } from '../parse/command.ts'
import { DIRECTORY } from '../parse/options.ts'
import { ofSandbox, pacedPolicy } from '../target/sandbox-example.ts'
import { placePolicy } from './policy/new.ts'

const SCHEMA = fileURLToPath(new URL('../../../config/run.schema.json', import.meta.url))

/** `rolekeeper init`: a run configuration and careful policies, from what service and chain say. */
export const init = command({
  name: 'init',
  usage: 'FILE [NAME=VALUE …] [--yes | --confirmed ADDRESSES] [--defaults] [--sandbox [--directory DIR]]',
  help: `Write a run configuration into FILE, and a policy of each role into policies/ beside it. It reads the deployment, symbols,
decimals and code from service and chain, and asks the rest on standard input; an answer may stand in the command, as NAME=VALUE:
service, nodes, secretKey, directory, roles, region, key.ROLE, and what \`policy new\` asks. A person confirms each address. Every
role begins in shadow, with small limits. Nothing is overwritten.
--sandbox writes that of the sandbox which runs in DIR, as an example, and beside each policy one at the pace of its world, where
a day takes half a minute; what it takes from the environment is in DIR/sandbox.env.

  rolekeeper init config/production.yaml service=https://api.service.example nodes=env:NODE_A,env:NODE_B`,
  options: {
    yes: { help: 'confirm every address without being asked' },
    confirmed: {
      help: 'a file with the addresses that a person has confirmed, one a line',
      value: 'ADDRESSES',
    },
    defaults: { help: 'ask nothing for which there is a careful answer' },
    sandbox: { help: 'answer from the sandbox that runs in DIR' },
    directory: DIRECTORY,
  },
  argumentsMax: 60,
  run: async ({ yes, confirmed, defaults, sandbox, directory }, [file, ...answers], io) => {
    if (file === undefined)
      throw usageError('FILE is missing.', 'name the file to write, as config/production.yaml')
    refuseThere(file)
    const example = sandbox === true ? ofSandbox(resolve(directory ?? DEFAULT_DIRECTORY)) : null
    const env = { ...io.env, ...example?.env }
    const given = new Map([...(example?.answers ?? []), ...answersOf(answers)])
    const { ask, close } = createAsk(given, defaults === true || example !== null, { ...io, env })
    try {
      const found = await lookAround(ask, env)
      await confirmAll(
        found.deployment,
        { yes: yes === true || (example !== null && confirmed === undefined), confirmed },
        ask,
        io,
      )
      const environment = example === null ? 'production' : 'sandbox'
      const { foreign, ...composed } = await compose(file, found, { ask, env }, environment)
      for (const { name, address, manager } of foreign)
        io.err(`fund ${printable(name)} ${address} is left out: ${manager} manages it, and no key here\n`)
      await writeAll(file, { ...composed, sources: example?.sources ?? [] }, { ask, env }, io)
    } finally {
      close()
    }
    const path = printable(file)
    const secrets = example === null ? '' : `set -a; . ${printable(example.secrets)}; set +a; `
    io.out(
      `${path}: every role in shadow. Read it and its policies, then: ${secrets}rolekeeper doctor --config ${path}\n`,
    )
    return 0
  },
})

type Answering = { readonly ask: Ask; readonly env: Env }

/** Write the configuration and its policies, all or none: what is half there would be refused the next time. */
async function writeAll(file: string, config: NewConfig, { ask, env }: Answering, io: Io): Promise<void> {
  const policies = config.agents.map(({ role }) => ({ role, to: join(dirname(file), policyOf(role)) }))
  const paced = config.agents.flatMap(({ role, policy }) =>
    policy === policyOf(role) ? [] : [{ to: join(dirname(file), policy), text: pacedPolicy(role) ?? '' }],
  )
  for (const { to } of [...policies, ...paced]) refuseThere(to)
  createFolder(dirname(resolve(file)))
  writeFileSync(file, newConfigText(config), { flag: 'wx' })
  try {
    for (const { role, to } of policies) {
      const text = await newPolicy({ role, to }, await configAt({ config: file }, { ...io, env }), ask)
      placePolicy(to, text, file)
    }
    for (const { to, text } of paced) {
      createFolder(dirname(resolve(to)))
      writeFileSync(to, text, { flag: 'wx' })
    }
  } catch (error) {
    for (const written of [file, ...[...policies, ...paced].map(({ to }) => to)])
      rmSync(written, { force: true })
    throw error
  }
}

const policyOf = (role: string) => `policies/${role}.yaml`

function refuseThere(file: string): void {
  if (!existsSync(file)) return
  throw new RolekeeperError('init.file_there', `${file} is there already, and nothing is overwritten.`, {
    fix: 'name another file, or move that one away.',
  })
}

type Env = Readonly<Record<string, string | undefined>>

const text = (name: string, asks: string, fallback: string | null, shape = /./): Question => ({
  name,
  asks,
  fallback,
  wrong: (answer) => (shape.test(answer) ? null : `"${answer}" is none`),
})
const parts = (answer: string): readonly string[] => answer.split(',').map((part) => part.trim())

/** What a reference names, or the value itself. Throws RolekeeperError `init.env_missing`. */
function fromEnv(reference: string, env: Env): string {
  const name = /^env:(.+)$/.exec(reference)?.[1]
  const value = name === undefined ? reference : env[name]
  if (value !== undefined && value !== '') return value
  throw new RolekeeperError('init.env_missing', `The environment variable ${name} is not set.`, {
    fix: `set ${name}: the deployment is read with it.`,
  })
}

type Around = {
  readonly serviceUrl: string
  readonly nodes: readonly string[]
  readonly secretKey: string
  readonly deployment: FoundDeployment
}

async function lookAround(ask: Ask, env: Env): Promise<Around> {
  const serviceUrl = await ask(text('service', "the service's URL", null, /^https?:\/\//))
  const asked = 'nodes to read, of different providers, with commas: URLs, or env:NAME where they hold a key'
  const nodes = parts(
    await ask(text('nodes', asked, null, /^(env:\w+|https?:\/\/\S+?)(, ?(env:\w+|https?:\/\/\S+?))*$/)),
  )
  const secret = 'the secret key of the service, by the environment'
  const secretKey = await ask(text('secretKey', secret, 'env:ROLEKEEPER_SECRET_KEY', /^env:\w+$/))
  const chain = await ask(
    text('chain', 'the chain id, or `any` where the service serves one', 'any', /^(any|\d+)$/),
  )
  const deployment = await discover({
    serviceUrl,
    secretKey: fromEnv(secretKey, env),
    nodes: nodes.map((node) => fromEnv(node, env)),
    chainId: chain === 'any' ? undefined : Number(chain),
  })
  return { serviceUrl, nodes, secretKey, deployment }
}

/** Have a person say of each address that it is right. Throws RolekeeperError `init.not_confirmed`. */
async function confirmAll(
  { assets, markets, vaults, funds, contracts }: FoundDeployment,
  { yes, confirmed }: { readonly yes: boolean; readonly confirmed: string | undefined },
  ask: Ask,
  io: Io,
): Promise<void> {
  const known = confirmed === undefined ? '' : readFileSync(confirmed, 'utf8').toLowerCase()
  const lists = { asset: assets, market: markets, vault: vaults, fund: funds, contract: contracts }
  const rows = Object.entries(lists).flatMap(([kind, list]) =>
    list.map((each) => ({ kind, each, more: moreOf(each) })),
  )
  for (const { kind, each, more } of rows) {
    const { name, address } = each
    const what = `${kind} ${printable(name)} ${address}${more}`
    if (yes || known.includes(address)) io.err(`${what}\n`)
    else if (confirmed !== undefined || !(await isRight(what, name, ask))) {
      throw new RolekeeperError('init.not_confirmed', `Nobody confirms the ${what}.`, {
        fix: 'compare it with what the operator of the deployment publishes, then write it into the file of --confirmed, or answer yes.',
      })
    }
  }
}

const isRight = async (what: string, name: string, ask: Ask): Promise<boolean> => {
  const answer = await ask(text(`confirm.${name}`, `${what}: is it right (yes or no)`, null, /^(yes|no)$/))
  return answer === 'yes'
}

function moreOf(each: FoundContract & { readonly decimals?: number; readonly oracle?: string }): string {
  const decimals = each.decimals === undefined ? '' : `, ${each.decimals} decimals`
  const oracle = each.oracle === undefined ? '' : `, priced by ${each.oracle}`
  const proxy = each.proxy === undefined ? '' : `, a proxy of ${each.proxy.implementation}`
  return `${decimals}${oracle}${proxy}`
}

async function compose(
  file: string,
  { serviceUrl, nodes, secretKey, deployment: found }: Around,
  { ask, env }: Answering,
  environment: NewConfig['environment'],
): Promise<Omit<NewConfig, 'sources'> & { readonly foreign: FoundDeployment['funds'] }> {
  const known = staffed.map(({ role }) => role)
  const directory = await ask(text('directory', 'the folder of the records, on a disk of its own', './state'))
  const roles = parts(
    await ask(text('roles', `the roles to staff (of ${known.join(', ')})`, known[0] ?? null)),
  )
  const region = await ask(text('region', "the KMS's region", 'us-east-1', /^[a-z0-9-]{2,32}$/))
  const endpoint = await ask(text('endpoint', "the KMS's endpoint, or none for AWS's own", 'none'))
  const prefix = await ask(
    text(
      'credentials',
      "the prefix of the KMS's credentials in the environment, or none for AWS's default chain",
      'none',
    ),
  )
  const kms = {
    region,
    ...(endpoint === 'none' ? {} : { endpoint }),
    ...(prefix === 'none'
      ? {}
      : { accessKeyId: `env:${prefix}_ACCESS_KEY_ID`, secretAccessKey: `env:${prefix}_SECRET_ACCESS_KEY` }),
  }
  const credentials =
    prefix === 'none'
      ? {}
      : {
          credentials: () => ({
            accessKeyId: fromEnv(`env:${prefix}_ACCESS_KEY_ID`, env),
            secretAccessKey: fromEnv(`env:${prefix}_SECRET_ACCESS_KEY`, env),
          }),
        }
  const agents: NewConfig['agents'][number][] = []
  for (const role of roles) {
    const keyId = await ask(
      text(`key.${role}`, `the ARN of the KMS key of the ${role}`, null, /^arn:aws[\w-]*:kms:/),
    )
    const settings = { keyId, region, ...(endpoint === 'none' ? {} : { endpoint }), ...credentials }
    const address = (await readKmsAddress(settings)).toLowerCase()
    const isPaced = environment === 'sandbox' && pacedPolicy(role) !== null
    agents.push({ role, policy: isPaced ? `policies/sandbox/${role}.yaml` : policyOf(role), keyId, address })
  }
  const { chainId, ...deployment } = await ownOf(found, agents, ask)
  const schema = relative(dirname(resolve(file)), SCHEMA)
  return {
    environment,
    directory,
    chainId,
    read: nodes,
    send: nodes,
    serviceUrl,
    secretKey,
    kms,
    deployment,
    agents,
    schema,
    agree: Math.min(2, nodes.length),
    foreign: found.funds.filter((fund) => !deployment.funds.some(({ address }) => address === fund.address)),
  }
}

/** Whatever is pinned as a fund is ours: its money is in our accounts, and nothing is bought from it. */
async function ownOf({ funds, assets, ...found }: FoundDeployment, agents: NewConfig['agents'], ask: Ask) {
  const ours = new Set<string | null>([null, ...agents.map(({ address }) => address)])
  const named = assets.map(({ name: symbol, ...asset }) => ({ ...asset, symbol }))
  return {
    ...found,
    assets: await priced(named, found, ask),
    funds: funds.filter(({ manager }) => ours.has(manager)).map(({ manager: _, ...fund }) => fund),
  }
}

/** What is paid with counts as it is said to: no oracle of a market prices it. */
async function priced<T extends { readonly symbol: string; readonly address: string }>(
  assets: readonly T[],
  { markets }: Pick<FoundDeployment, 'markets'>,
  ask: Ask,
): Promise<readonly object[]> {
  const loans = new Set<string>(markets.map(({ loanAsset }) => loanAsset))
  const rows: object[] = []
  for (const asset of assets) {
    const asks = `what one ${asset.symbol} counts as in all accounts`
    rows.push(
      loans.has(asset.address)
        ? { ...asset, price: await ask(text(`price.${asset.symbol}`, asks, '1 USD', /^[\d,.]+ USD$/)) }
        : asset,
    )
  }
  return rows
}
