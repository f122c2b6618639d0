import { h, list, once } from './dom.js'

const UNDER_WAY = ['under way', 'A workflow that has not ended, one that waits for a person too.']
const SAFE = [
  'SAFE',
  'A signer is in doubt: nothing new is signed with its key, and what is public already is followed to its end.',
]
const REALISED = [
  'realised',
  'What moved, with what is in escrow, claims and shares, less gas; by final blocks.',
]
const MARKED = ['marked', 'What prices did to what was held. Nothing was sold.']
const LAST_DECISION = [
  'last decision',
  'The rule that ended the last look at this row, and its reason. A click shows the figures.',
]

/** What words of ours mean, by the view that has them. docs/words.md is the whole list. */
const WORDS = {
  overview: [
    REALISED,
    MARKED,
    UNDER_WAY,
    ['held', 'A proposal that waits for a person: see Approvals.'],
    ['left alone', 'What a role looked at and did not act on; below it the rules that ended most looks.'],
    [
      'live, shadow',
      'A live role signs and sends. A shadow role does all before that, and is scored by what came.',
    ],
    SAFE,
  ],
  workflows: [
    ['discovered', 'A role decided to act.'],
    ['requested, prepared', 'The service was asked for the calls, and answered.'],
    ['attested', 'What the answer asks for passed every check that needs no chain.'],
    ['cleared', 'It was simulated on our nodes and passed every check.'],
    ['in flight', 'Its nonces and budgets are taken. It is signed, sent, and followed to a final block.'],
    ['confirmed', 'In a final block. The service does not show the effect yet.'],
    ['succeeded', 'In a final block, and the service shows the effect.'],
    ['shadowed', 'All was done but the signature. What would have come is scored later.'],
    ['refused', 'A check said no, and nothing was sent.'],
    ['expired', 'A time was over first: that of the answer, of the clearance, or for a person to answer.'],
    [
      'cancelled',
      'A person said no, or what it was for was gone. A nonce that it had took an empty transaction.',
    ],
    ['reverted, partial', 'It failed on chain: nothing of it was done, or only the first part.'],
    ['superseded', 'A transaction that this keeper did not sign took its nonce.'],
    ['unconfirmed', 'In a final block, but the service never showed the effect.'],
    ['quarantined', 'A step failed three times in a way that nobody foresaw. A person has to look.'],
  ],
  positions: [
    [
      'health',
      'Collateral at the oracle’s price and the liquidation threshold, divided by the debt. Below 1 it can be liquidated.',
    ],
    ['under water', 'A health below 1.'],
    ['liquidated below', 'The oracle’s price at which the health is 1.'],
    LAST_DECISION,
  ],
  vaults: [
    ['held', 'What the vault has in a market now.'],
    ['target', 'What it has once the move that is proposed or under way is done.'],
    ['cap', 'The most that its curator lets it have there.'],
  ],
  nav: [
    ['says, of', 'The value of a source, and the time that it is the value of.'],
    [
      'counts',
      'Whether the source would count for a value of now: near enough to the median of all, and fresh enough; or the rule that leaves it out.',
    ],
    ['next due', 'When a report is due at the latest, by the policy.'],
  ],
  lots: [
    ['reserve', 'The least that the seller takes.'],
    [
      'our limit',
      'The most that our next bid may be: our own value or what a rule leaves, whichever is less.',
    ],
    ['live, leading', 'A bid that stands; the one that would win now.'],
  ],
  money: [
    ['expected', 'What a role expected of the workflows that succeeded, each opportunity once.'],
    REALISED,
    MARKED,
    ['gas', 'What transactions cost, failed ones and cancellations with them.'],
  ],
  budgets: [
    ['%', 'The part of a limit of the policy that is spent or reserved, over the span in its name.'],
    ['free again', 'A sum leaves a limit over a span once it is older than the span.'],
  ],
  approvals: [
    ['hash', 'Names what is asked: role, chain, signer, calls and rules. A yes is for one hash alone.'],
    ['held', 'A proposal above what its role may do alone.'],
    ['expires', 'From then on it is not done. The role asks again while it still wants it.'],
  ],
  health: [
    [
      'facet',
      'One thing that is well or not by itself. What only suffers from another names it and has no fix of its own.',
    ],
    ['open nonces', 'Signed transactions of a key that are not in a final block yet.'],
    ['doubt', 'What was seen that puts a signer in SAFE, and what leaves it.'],
    SAFE,
  ],
  why: [
    ['rule', 'A condition of the policy or the strategy, by its name; it ends a look, or lets it go on.'],
    ['Figures', 'The numbers that the decision rests on, as they were then.'],
  ],
}

/** What the words of a view mean, folded beneath it. */
export function legend(place, view) {
  const folded = once(place, 'legend', () =>
    h('details', {}, h('summary', {}, 'What these words mean'), h('dl', { class: 'legend' })),
  )
  list(
    folded.lastElementChild,
    WORDS[view].flatMap(([word, meaning]) => [
      { key: word, tag: 'dt', text: word },
      { key: `${word}:`, tag: 'dd', text: meaning },
    ]),
    ({ key }) => key,
    ({ tag, text }) => h(tag, {}, text),
  )
}
