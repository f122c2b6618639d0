/** Wake-ups: the journal knows what there is to do; a queue only says when to look. Losing it costs latency only. */
export type Queue = {
  /** Look at a workflow after `delayMs`; an earlier wake-up of the same workflow wins. */
  readonly wake: (id: string, delayMs: number) => void
  /** Resolve when nothing runs; nothing new starts. */
  readonly close: () => Promise<void>
}

/** Stands where a workflow would: everything is to be looked at. */
export const LOOK = 'look'

/** Stands for what people ordered of a seat, where a workflow's id could. */
export const ORDERS = 'orders'
