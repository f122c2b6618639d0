import { roomOf } from './floors.ts'
import { isPackage, isProduct, type Rule, reachOf, shown } from './tree.ts'

/** Each vendor has its homes, so that replacing it, or its failures, is one folder's matter. Types count. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  // Sources of a value are other hosts than the service, with limits of their own: observe/ reads them itself.
  // One deadline over headers and body, which viem's transport does not have: chain/ speaks to nodes itself.
  // A manager of secrets is asked before there is anything else: config/ reads it itself.
  // Alarms go to hosts of their own, and wait for none: ops/ tells them itself.
  undici: ['service', 'observe', 'chain', 'config', 'ops'],
  '@aws-sdk/client-secrets-manager': ['config'],
  cockatiel: ['service'],
  ws: ['service', 'sandbox'],
  '@aws-sdk/client-kms': ['sign'],
  '@noble/curves': ['sign', 'sandbox'],
  // A service's contract may be YAML too.
  yaml: ['config', 'service'],
  croner: ['agents/nav-reporter'],
  'csv-parse': ['agents/nav-reporter'],
  'prom-client': ['ops'],
  pino: ['ops'],
  '@opentelemetry/api': ['ops'],
  '@opentelemetry/exporter-trace-otlp-http': ['ops'],
  '@opentelemetry/resources': ['ops'],
  '@opentelemetry/sdk-trace': ['ops'],
  'node:sqlite': ['journal', 'sandbox'],
  // Keys are made where signatures are.
  'viem/accounts': ['sign', 'sandbox'],
  'node:http': ['ops', 'service', 'sandbox'],
  'node:https': ['sandbox'],
  'node:net': ['ops', 'service', 'sandbox'],
  'node:module': ['sandbox'],
  ioredis: ['journal', 'queue'],
  bullmq: ['queue'],
  'yocto-spinner': ['cli'],
  'fastest-levenshtein': ['cli'],
  fastify: ['ops', 'sandbox'],
  '@fastify/cookie': ['ops'],
  graphql: ['sandbox'],
  'ipaddr.js': ['sandbox'],
  solc: ['sandbox'],
}
/** At home everywhere: types, encodings and schemas. */
const EVERYWHERE = ['viem', 'zod']

/** What of viem talks to a node; all of it under one name might. */
const TRANSPORTS = [
  '*',
  'default',
  'http',
  'webSocket',
  'ipc',
  'fallback',
  'custom',
  'createClient',
  'createPublicClient',
  'createWalletClient',
  'createTestClient',
  'createTransport',
]

const packageOf = (to: string) =>
  to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')

/** Vendors stay at home, and none is without one; nobody goes around them by the global `fetch`. */
export const vendorsStayHome: Rule = ({ files }) => [
  ...files
    .filter(({ path }) => !path.startsWith('test/'))
    .flatMap(({ edges }) => edges)
    .filter((edge) => {
      if (!isPackage(edge)) return false
      const name = packageOf(edge.to)
      const homes = HOMES[edge.to] ?? HOMES[name]
      if (homes === undefined) return !name.startsWith('node:') && !EVERYWHERE.includes(name)
      return !homes.includes(roomOf(edge.from))
    })
    .map(shown),
  ...files
    .filter(({ path, text }) => isProduct(path) && /\bfetch\(/.test(text))
    .map(({ path }) => `${path} calls fetch`),
]

/** Only chain/ and the sandbox talk to nodes. */
export const nodesAreAskedByChain: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter(
      ({ from, to, names }) =>
        isProduct(from) &&
        packageOf(to) === 'viem' &&
        roomOf(from) !== 'chain' &&
        names.some((name) => TRANSPORTS.includes(name)),
    )
    .map(shown)

/** The product does not know the sandbox, but for the command that starts it; and `run` loads no module of it. */
export const sandboxIsGuest: Rule = (tree) => {
  const entering = tree.files
    .flatMap(({ edges }) => edges)
    .filter(
      ({ from, to }) =>
        isProduct(from) && roomOf(to) === 'sandbox' && !/^src\/cli\/target\/sandbox-[a-z-]+\.ts$/.test(from),
    )
  const loaded = reachOf(tree, ({ path }) => /^src\/cli\/(.*\/)?run\.ts$/.test(path))
  return [
    ...entering.map(shown),
    ...[...loaded].filter((path) => roomOf(path) === 'sandbox').map((path) => `run loads ${path}`),
    ...(loaded.size > 100 ? [] : ['run loads hardly anything: name the command that runs the keeper']),
  ]
}

/** The sandbox knows the service's contract: one truth for both ends. Its own clock and errors are the product's. */
export const guestKnowsContract: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter(({ from, to }) => roomOf(from) === 'sandbox' && /^(agents|src)\//.test(to))
    .filter(({ to }) => !['service/contract', 'clock', 'errors'].includes(roomOf(to)))
    .map(shown)

/** Written from the service's document alone, to witness what we made of it. */
const WITNESSES = ['test/lab/conformance/', 'test/support/webhook-witness/']

/** A witness knows nothing of what it witnesses. */
export const witnessesStandApart: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter((edge) => {
      const own = WITNESSES.find((folder) => edge.from.startsWith(folder))
      return own !== undefined && !isPackage(edge) && !edge.to.startsWith(own)
    })
    .map(shown)

/** Nothing that ships imports a test. */
export const testsStayBehind: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter(({ from, to }) => !from.startsWith('test/') && to.startsWith('test/'))
    .map(shown)

/** What runs in shadow. */
const IN_SHADOW = /^src\/(pipeline|keeper\/stages)\/shadow[a-z-]*\.ts$/
/** Where something is signed or sent, beside sign/ itself. */
const SIGNS = [
  'src/keeper/signer/role-signing.ts',
  'src/keeper/stages/live.ts',
  'src/service/session.ts',
  'src/pipeline/attest.ts',
  'src/pipeline/in-flight.ts',
  'src/pipeline/conclude.ts',
]

/** Programs of the lab run without the test runner; one of them is a runner itself. */
export const programsRunAlone: Rule = (tree) => {
  const programs = reachOf(tree, ({ path }) => /^test\/lab\/(?!mutation\/)[^/]+\/main\.ts$/.test(path))
  return tree.files
    .filter(({ path }) => programs.has(path))
    .flatMap(({ edges }) => edges)
    .filter(({ to, typeOnly }) => to === 'vitest' && !typeOnly)
    .map(shown)
}

/** No signer can be reached from what runs in shadow; it has not even the name of one. */
export const shadowSignsNothing: Rule = (tree) => {
  const reached = reachOf(tree, ({ path }) => IN_SHADOW.test(path))
  const named = tree.files
    .filter(({ path }) => reached.has(path))
    .flatMap(({ edges }) => edges)
    .filter(({ to }) => roomOf(to) === 'sign')
  const paths = tree.files.map(({ path }) => path)
  return [
    ...[...reached].filter((path) => SIGNS.includes(path) || roomOf(path) === 'sign'),
    ...named.map(shown),
    ...SIGNS.filter((path) => !paths.includes(path)).map((path) => `${path} is gone: name what signs now`),
    ...(reached.size > 20 ? [] : ['hardly anything runs in shadow: name what does']),
  ]
}
