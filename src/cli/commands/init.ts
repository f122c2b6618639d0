import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { z } from 'zod'
import { agents as staffed } from '../../../agents/index.ts'
import { type NewConfig, newConfigText } from '../../config/new-config.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import { createFolder } from '../../journal/lock.ts'
import { discover, type FoundContract, type FoundDeployment } from '../../keeper/discover.ts'
import { type Ask, newPolicy, type Question } from '../../keeper/policy-new.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { readKmsAddress } from '../../sign/kms.ts'
import { answersOf, createAsk } from '../ask.ts'
import { command, type Io, usageError } from '../command.ts'
import { DIRECTORY } from '../options.ts'
import { configAt } from '../run-order.ts'
import { placePolicy } from './policy-new.ts'

const SCHEMA = fileURLToPath(new URL('../../../config/run.schema.json', import.meta.url))

/** `rolekeeper init`: a run configuration and careful policies, from what service and chain say. */
export const init = command({
  name: 'init',
  usage: 'FILE [NAME=VALUE …] [--yes | --confirmed ADDRESSES] [--defaults] [--sandbox [--directory DIR]]',
  help: `Write a run configuration into FILE, and a policy of each role into policies/ beside it. It reads the deployment, symbols,
decimals and code from service and chain, and asks the rest on standard input; an answer may stand in the command, as NAME=VALUE:
service, nodes, secretKey, directory, roles, region, key.ROLE, and what \`policy new\` asks. A person confirms each address. Every
role begins in shadow, with small limits. Nothing is overwritten.
--sandbox writes that of the sandbox which runs in DIR, as an example; what it takes from the environment is in DIR/sandbox.env.

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
      const composed = await compose(file, found, { ask, env }, environment)
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
  const policies = config.agents.map(({ role, policy }) => ({ role, to: join(dirname(file), policy) }))
  for (const { to } of policies) refuseThere(to)
  createFolder(dirname(resolve(file)))
  writeFileSync(file, newConfigText(config), { flag: 'wx' })
  try {
    for (const { role, to } of policies) {
      const text = await newPolicy({ role, to }, await configAt({ config: file }, { ...io, env }), ask)
      placePolicy(to, text, file)
    }
  } catch (error) {
    for (const written of [file, ...policies.map(({ to }) => to)]) rmSync(written, { force: true })
    throw error
  }
}

function refuseThere(file: string): void {
  if (!existsSync(file)) return
  throw new RolekeeperError('init.file_there', `${file} is there already, and nothing is overwritten.`, {
    fix: 'name another file, or move that one away.',
  })
}

const info = z.looseObject({
  ...{ serviceUrl: z.string(), rpcUrl: z.string(), kmsUrl: z.string(), kmsRegion: z.string() },
  signers: z.record(z.string(), z.object({ keyId: z.string() })),
  sources: z.array(z.record(z.string(), z.unknown())),
})

/** The answers that the sandbox of a directory gives. Throws RolekeeperError `sandbox.unreadable` where none runs there. */
function ofSandbox(directory: string) {
  const secrets = join(directory, 'sandbox.env')
  try {
    const said = info.parse(JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8')))
    const roles = staffed.map(({ role }) => role).filter((role) => said.signers[role] !== undefined)
    const keys = roles.map((role) => [`key.${role}`, said.signers[role]?.keyId ?? ''] as const)
    return {
      // Its files are where it runs, wherever the configuration is written.
      sources: said.sources.map(({ file, ...each }) =>
        typeof file === 'string' ? { ...each, file: resolve(directory, file) } : each,
      ),
      secrets,
      env: parseEnv(readFileSync(secrets, 'utf8')),
      answers: new Map([
        ...Object.entries({
          ...{ service: said.serviceUrl, nodes: said.rpcUrl, region: said.kmsRegion },
          ...{ endpoint: said.kmsUrl, roles: roles.join(','), credentials: 'ROLEKEEPER_KMS' },
        }),
        ...keys,
      ]),
    }
  } catch (cause) {
    throw new RolekeeperError('sandbox.unreadable', `No sandbox runs in ${directory}.`, {
      fix: 'start one with `rolekeeper sandbox`, or name its directory with --directory.',
      cause,
    })
  }
}

type Env = Readonly<Record<string, string | undefined>>

const text = (name: string, asks: string, fallback: string | null, shape = /./): Question => ({
  ...{ name, asks, fallback },
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
    ...{ serviceUrl, secretKey: fromEnv(secretKey, env), nodes: nodes.map((node) => fromEnv(node, env)) },
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
): Promise<Omit<NewConfig, 'sources'>> {
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
    agents.push({ role, policy: `policies/${role}.yaml`, keyId, address })
  }
  const { chainId, ...rest } = found
  const assets = rest.assets.map(({ name: symbol, ...asset }) => ({ ...asset, symbol }))
  const deployment = { ...rest, assets: await priced(assets, found, ask) }
  const schema = relative(dirname(resolve(file)), SCHEMA)
  return {
    ...{
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
    },
    agree: Math.min(2, nodes.length),
  }
}

/** What is paid with counts as it is said to: no oracle of a market prices it. */
async function priced<T extends { readonly symbol: string; readonly address: string }>(
  assets: readonly T[],
  { markets }: FoundDeployment,
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
