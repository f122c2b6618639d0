import { type NodeLack, probeLacks } from '../../../chain/probe-limits.ts'
import { type ProbedNode, probeNode } from '../../../chain/probe-node.ts'
import type { RunConfig } from '../../../config/config.ts'
import { RolekeeperError } from '../../../errors.ts'
import { plural, span } from '../../../readable.js'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { type Finding, failed, failedBy, passed, warned } from '../finding.ts'

/** A node that is further behind the others, or ahead of them, shows another state than they decide by. */
const APART_MAX = 5n
/** An old head is a chain that stands still, or a node that does. */
const HEAD_AGE_MS_MAX = 60_000

type NodeAnswers = { readonly name: string; readonly path: string; readonly reads: boolean } & (
  | { readonly node: ProbedNode; readonly lacks: readonly NodeLack[] }
  | { readonly error: unknown }
)

/** Look at each node by itself, and whether enough of those that are read are there and on one chain. */
export async function examineNodes(
  { chain: { id: chainId, nodes, finality } }: Pick<RunConfig, 'chain'>,
  nowMs: () => number,
): Promise<{ readonly findings: readonly Finding[]; readonly headMs: number | null }> {
  const all = (['read', 'send'] as const).flatMap((use) =>
    nodes[use].map((url, index) => ({
      name: `${use}-${index + 1}`,
      path: `chain.nodes.${use}[${index}]`,
      reads: use === 'read',
      url: url.reveal(),
    })),
  )
  const seen = await Promise.all(
    all.map(async ({ url, ...who }): Promise<NodeAnswers> => {
      try {
        const node = await probeNode({ ...who, url, chainId, timeoutMs: ANSWER_MS_MAX })
        return { ...who, node, lacks: who.reads ? await probeLacks(url, ANSWER_MS_MAX, node.head) : [] }
      } catch (error) {
        return { ...who, error }
      }
    }),
  )
  try {
    const heads = seen.flatMap((each) => ('node' in each ? [each.node.head] : []))
    const best = reachedBy(heads.map(({ number }) => number))
    const odd = await apartFrom(seen)
    const judged = seen.map((each) => judgeNode(each, { best, odd, finality, nowMs: nowMs() }))
    const good = judged.filter(({ state }, index) => state === 'ok' && seen[index]?.reads === true).length
    const findings = [...judged, ...seen.flatMap(lacking), quorum(good, nodes)]
    const newest = heads.reduce<number | null>(
      (most, { timestampS }) => Math.max(most ?? 0, timestampS),
      null,
    )
    return { findings, headMs: newest === null ? null : newest * 1_000 }
  } finally {
    await Promise.all(seen.map((each) => ('node' in each ? each.node.close() : undefined)))
  }
}

/** The highest block that is no single node's word, where there are enough of them. */
function reachedBy(numbers: readonly bigint[]): bigint {
  const [highest = 0n, second = highest] = numbers.toSorted((one, other) => (one > other ? -1 : 1))
  return numbers.length > 2 ? second : highest
}

/** Find the nodes that have another block than most at a height that all of them have. */
async function apartFrom(seen: readonly NodeAnswers[]): Promise<ReadonlySet<string>> {
  const nodes = seen.flatMap((each) => ('node' in each && each.reads ? [each] : []))
  const lowest = nodes.reduce<bigint | null>(
    (least, { node: { head } }) => (least === null || head.number < least ? head.number : least),
    null,
  )
  if (lowest === null || nodes.length < 2) return new Set()
  const hashes = await Promise.all(
    nodes.map(async ({ name, node }) => ({ name, hash: (await node.at(lowest).catch(() => null))?.hash })),
  )
  const known = hashes.filter(({ hash }) => hash !== undefined)
  const most = Math.max(0, ...known.map(({ hash }) => known.filter((each) => each.hash === hash).length))
  return new Set(
    known.flatMap(({ name, hash }) =>
      known.filter((each) => each.hash === hash).length < most ? [name] : [],
    ),
  )
}

type Against = {
  readonly best: bigint
  readonly odd: ReadonlySet<string>
  readonly finality: RunConfig['chain']['finality']
  readonly nowMs: number
}

function judgeNode(seen: NodeAnswers, { best, odd, finality, nowMs }: Against): Finding {
  const { name, path } = seen
  if ('error' in seen) {
    const { error } = seen
    const code = error instanceof RolekeeperError ? error.code : ''
    const fix =
      code === 'node.wrong_chain'
        ? `write the address of a node of that chain as ${path}, or correct chain.id.`
        : `check that the node of ${path} runs and that its address and key are right, or name another one there.`
    return failedBy('node', name, error, fix)
  }
  const { head, finalized, simulates } = seen.node
  // What it is asked at its head, it may lack for that.
  if (head.number - best > APART_MAX) {
    return warned('node', name, {
      code: 'node.ahead',
      message: `Node ${name} is at block ${head.number}, ${head.number - best} ahead of all others; ${APART_MAX} is the limit.`,
      fix: `see whether its block is one of this chain, and the others lag; if not, name another node as ${path}.`,
    })
  }
  if (simulates !== null) return failedBy('node', name, simulates)
  if (seen.reads && finality === 'finalized' && finalized === null) {
    return failed('node', name, {
      code: 'node.no_finalized',
      message: `Node ${name} knows no finalized block.`,
      fix: `write chain.finality: { confirmations: "N" } for a chain without the tag, or name another node as ${path}.`,
    })
  }
  if (odd.has(name)) {
    return failed('node', name, {
      code: 'node.other_fork',
      message: `Node ${name} has another block than the others at a height that all of them have.`,
      fix: `compare it with a node that you trust, and replace ${path} where it is the wrong one.`,
    })
  }
  const behind = best - head.number
  if (behind > APART_MAX) {
    return warned('node', name, {
      code: 'node.behind',
      message: `Node ${name} is at block ${head.number}, ${plural(behind, 'block')} behind the best of them; ${APART_MAX} is the limit.`,
      fix: `wait until it has caught up, or name another node as ${path}.`,
    })
  }
  const ageMs = nowMs - head.timestampS * 1_000
  if (ageMs > HEAD_AGE_MS_MAX) {
    return warned('node', name, {
      code: 'node.stale',
      message: `The newest block of node ${name}, ${head.number}, is ${span(Math.round(ageMs / 1_000) * 1_000)} old; ${span(HEAD_AGE_MS_MAX)} is the limit.`,
      fix: `see whether the chain stands still or the node of ${path} does.`,
    })
  }
  const final = finalized === null ? '' : `, final ${finalized.number}`
  return passed('node', name, `block ${head.number}${final}.`)
}

/** What is asked for, and what becomes of a keeper whose node does not give it. */
const WITHOUT: Readonly<Record<NodeLack['what'], readonly [asked: string, becomes: string]>> = {
  batch: ['100 calls in one request', 'a look takes more requests, which a limit on requests counts'],
  range: ['eth_getLogs over 2,000 blocks', 'accounts are read in narrower ranges, by more requests'],
  receipts: ['the receipt of a transaction in its newest block', 'what becomes of ours is known later'],
  fee_history: ['eth_feeHistory', "what others tip is not known, and a first offer tips the policy's least"],
  size: ['an answer of 512 KiB', 'what is larger is asked for in parts, a large block by its hashes'],
}

/** Say what a node that is there lacks: it is gone without, and a person should know. */
function lacking(seen: NodeAnswers): readonly Finding[] {
  if (!('lacks' in seen)) return []
  const { name, path } = seen
  return seen.lacks.map(({ what, says }) => {
    const [asked, becomes] = WITHOUT[what]
    return warned('node', name, {
      code: `node.lacks_${what}`,
      message: `Node ${name}, asked for ${asked}, ${says}: ${becomes}.`,
      fix: `ask its provider for a plan without that limit, or name another node as ${path}.`,
    })
  })
}

function quorum(good: number, { agree, read }: RunConfig['chain']['nodes']): Finding {
  const message = `${good} of ${read.length} nodes that are read are well; ${agree} must agree (chain.nodes.agree).`
  if (good >= agree) return passed('quorum', '', message)
  const fix = 'mend the nodes that are named above, or add one of another provider to chain.nodes.read.'
  return failed('quorum', '', { code: 'node.quorum_missing', message, fix })
}
