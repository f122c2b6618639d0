import type { RunConfig } from '../../config/config.ts'
import { createSpanBook, type SpanBook } from '../../ops/traces/spans.ts'
import type { Reports } from './reports.ts'

/** The traces of a keeper's workflows. */
export type Traces = Pick<SpanBook, 'resumed'> & {
  readonly heard: (type: string) => void
  readonly close: () => Promise<void>
}

/**
 * Send a span of each step of each workflow to the collector of a configuration; null where it names none, and then nothing
 * of it is loaded.
 */
export async function openTraces(
  { traces, environment, fleet, agents }: RunConfig,
  reports: Pick<Reports, 'of' | 'onEvent'>,
): Promise<Traces | null> {
  if (traces === undefined) return null
  const { createOtlp } = await import('../../ops/traces/otlp.ts')
  const otlp = createOtlp({
    url: traces.url.reveal(),
    headers: () =>
      Object.fromEntries(Object.entries(traces.headers).map(([name, value]) => [name, value.reveal()])),
    onTaken: ({ problem, lost }) => {
      const { log } = reports.of
      if (problem === null) log.info('the collector takes spans again', { lost })
      else log.warn('spans are lost: their collector does not take them', { problem })
    },
    // Source: OpenTelemetry semantic conventions, resource attributes.
    attributes: {
      'service.name': 'rolekeeper',
      'service.version': reports.of.version,
      'deployment.environment.name': environment,
      ...(fleet === undefined
        ? {}
        : { 'service.namespace': fleet.name, 'service.instance.id': fleet.instance }),
    },
  })
  const book = createSpanBook(agents.map(({ role }) => role))
  const stop = reports.onEvent((event) => {
    for (const span of book.event(event)) otlp.send(span)
  })
  return {
    resumed: book.resumed,
    heard: (type) => book.heard(type, reports.of.clock.nowMs()),
    close: async () => {
      stop()
      await otlp.close()
    },
  }
}
