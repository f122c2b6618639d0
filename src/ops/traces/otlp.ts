import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { EndedSpan } from './spans.ts'

/** Where spans go, and as whose. */
export type OtlpSettings = {
  /** With its path, for example `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string
  /** What each request carries now. */
  readonly headers: () => Record<string, string>
  readonly attributes: Readonly<Record<string, string>>
  /** Called as the collector begins to take nothing, with why, and as it takes something again, with how many spans were lost. */
  readonly onTaken: (taken: { readonly problem: string | null; readonly lost: number }) => void
}

/** Spans that wait for the collector; what is more is dropped. */
const QUEUE_MAX = 2_048
const BATCH_MAX = 256
const EVERY_MS = 1_000
/** A collector that takes longer has lost that batch. */
const EXPORT_MS = 5_000
/** At the end, nobody waits longer for it. */
const CLOSE_MS = 1_000

/**
 * Create what sends spans to a collector by OTLP over HTTP, as JSON. It never throws and nobody waits for it: a collector that
 * hangs or is away loses spans.
 */
export function createOtlp({ url, headers, attributes, onTaken }: OtlpSettings): {
  readonly send: (span: EndedSpan) => void
  readonly close: () => Promise<void>
} {
  const random = new RandomIdGenerator()
  // A root's ids are its workflow's; the tracer asks for them while the span is started.
  let root: EndedSpan | undefined
  const provider = new TracerProvider({
    resource: resourceFromAttributes(attributes),
    sampler: new AlwaysOnSampler(),
    idGenerator: {
      generateTraceId: () => root?.traceId ?? random.generateTraceId(),
      generateSpanId: () => root?.rootId ?? random.generateSpanId(),
    },
    spanProcessors: [
      new BatchSpanProcessor({
        // It refuses what is more than its limit at once, and at the end all that waits goes at once: no limit but the queue's.
        exporter: watched(
          new OTLPTraceExporter({ url, headers: async () => headers(), timeoutMillis: EXPORT_MS }),
          onTaken,
        ),
        maxQueueSize: QUEUE_MAX,
        maxExportBatchSize: BATCH_MAX,
        scheduledDelayMillis: EVERY_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('rolekeeper')
  return {
    send: (span) => {
      const { name, traceId, rootId, startMs, endMs, error } = span
      const parent = { traceId, spanId: rootId, traceFlags: TraceFlags.SAMPLED, isRemote: true }
      const context = span.isRoot === true ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
      root = span.isRoot === true ? span : undefined
      const options = { startTime: startMs, attributes: span.attributes, kind: SpanKind.INTERNAL }
      const started = tracer.startSpan(name, options, context)
      root = undefined
      if (error !== undefined) {
        started.setAttribute('error.type', error)
        started.setStatus({ code: SpanStatusCode.ERROR })
      }
      started.end(endMs)
    },
    close: async () => {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, CLOSE_MS)
      await Promise.race([provider.shutdown().catch(() => undefined), late.promise])
      clearTimeout(timer)
    },
  }
}

/** Say when what an exporter sends begins to be lost, and when no more. */
function watched(exporter: OTLPTraceExporter, onTaken: OtlpSettings['onTaken']) {
  let lost = 0
  return {
    export: (...[spans, done]: Parameters<OTLPTraceExporter['export']>) =>
      exporter.export(spans, (result) => {
        const isFirst = lost === 0
        // What a collector says may hold anything: its status, or the code of what broke, is enough.
        if (result.error !== undefined) {
          lost += spans.length
          if (isFirst) onTaken({ problem: problemOf(result.error), lost })
        } else if (!isFirst) {
          onTaken({ problem: null, lost })
          lost = 0
        }
        done(result)
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}

function problemOf(error: Error): string {
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `it answers ${code}`
  return `not reached, or no answer within ${EXPORT_MS} ms`
}
