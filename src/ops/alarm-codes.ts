/**
 * The codes of alarms: each begins at 0 in `rolekeeper_alarms_total`, so that a first one is an increase, and has a page in
 * docs/runbooks. Those of an agent lead with its role.
 */
export const ALARM_CODES: readonly string[] = [
  ...[
    'accounts.forked',
    'alarms.target_failing',
    'allowance.standing',
    'audit.damaged',
    'broadcast.refused',
    'money.short',
  ],
  ...['chain.reorg_past_finality', 'chain.unsettled'],
  ...['deployment.proxy_not_pinned', 'deployment.units_differ'],
  ...['budget.nearly_spent', 'budget.spent', 'duty.late'],
  ...['duty.overdue', 'role.absent', 'role.down', 'role.left_live', 'role.not_deciding'],
  ...['fleet.clock', 'fleet.unattested', 'fleet.witness', 'queue.deaf', 'seat.lost'],
  ...['journal.amnesia', 'journal.archive_missing', 'journal.not_replicated', 'journal.redis_settings'],
  ...['journal.refused', 'journal.unknown', 'journal.unreachable'],
  ...['key.not_signing', 'kms.bad_signature', 'kms.denied', 'kms.disabled', 'kms.not_found', 'kms.wrong_key'],
  ...['node.alone', 'node.disagreement', 'node.left_out', 'node.no_quorum', 'node.quorum_missing'],
  ...['node.timeout', 'node.unreachable', 'node.wrong_chain'],
  ...['nonce.not_adopted', 'nonce.not_final', 'nonce.stuck'],
  ...['policy.loosened', 'policy.monitor_refused', 'policy.not_taken_up'],
  ...['secrets.not_found', 'secrets.refused', 'secrets.unavailable', 'secrets.unfit', 'secrets.unreadable'],
  ...['service.forbidden', 'service.unauthorized'],
  ...['signer.low_balance', 'signer.safe', 'watermark.failed', 'watermark.not_opened'],
  ...['workflow.not_confirmed', 'workflow.not_ended', 'workflow.partial', 'workflow.quarantined'],
  'workflow.unconfirmed',
  ...['nav-reporter.quorum_short', 'nav-reporter.report_not_confirmed'],
  ...['nav-reporter.source_not_signed', 'nav-reporter.source_signed_by_another'],
  ...['allocator.experience_against', 'asset-manager.experience_against', 'rfq-bidder.experience_against'],
]
