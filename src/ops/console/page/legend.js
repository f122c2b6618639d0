import { h, list, once } from './dom.js'

const UNDER_WAY = ['under way', 'A workflow that has not ended, from the decision to its final block.']
const SAFE = [
  'SAFE',
  'A signer is in doubt: nothing new is signed with its key, and what is public already is followed to its end.',
]
const REALISED = ['realised', 'What came in less what went out and gas, by final blocks of the chain.']
const MARKED = ['marked', 'What was received and is not sold yet, by the prices of that hour.']
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
    [
      'attested, cleared',
      'The answer and its simulation passed every check, and budgets and a nonce are taken.',
    ],
    ['in flight', 'Signed, and sent to the nodes; not yet in a final block.'],
    ['confirmed', 'In a final block. The service does not show the effect yet.'],
    ['succeeded', 'In a final block, and the service shows the effect.'],
    ['shadowed', 'All was done but the signature. What would have come is scored later.'],
    ['refused', 'A check said no, and nothing was sent.'],
    ['expired', 'The time that the service gave was over before it could be done.'],
    ['cancelled', 'What it was for was gone, and its nonce was spent on an empty transaction.'],
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
      'Whether the source is near enough to the median of all, and fresh enough; or the rule that leaves it out.',
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
    ['expected', 'What a role expected to gain when it decided, of opportunities that are decided.'],
    REALISED,
    MARKED,
    ['gas', 'What transactions cost, failed ones and cancellations with them.'],
  ],
  budgets: [
    ['used', 'The part of a limit of the policy that is spent or reserved, over the span in its name.'],
    ['free again', 'A sum leaves a limit over a span once it is older than the span.'],
  ],
  approvals: [
    ['digest', 'The hash of exactly these calls. A yes is for one digest: calls that differ need another.'],
    ['held', 'A proposal above what its role may do alone.'],
  ],
  health: [
    [
      'part',
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
