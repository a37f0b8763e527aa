import { type Sampler, SamplingDecision, type SpanContext, TraceFlags } from '@opentelemetry/api';

export function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/**
 * A sampler: attempts are sampled if their delivery was, however much later and in whichever process, and `root`
 * decides about everything else. A plain ratio sampler would decide anew for each attempt.
 *
 * @example
 * import { NodeTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-node';
 * import { followLinks } from 'ringback/otel';
 * const sampler = new ParentBasedSampler({ root: followLinks(new TraceIdRatioBasedSampler(0.1)) });
 * new NodeTracerProvider({ sampler }).register();
 */
export function followLinks(root: Sampler): Sampler {
  return {
    shouldSample(context, traceId, name, kind, attributes, links) {
      if (links.some((link) => isSampled(link.context)))
        return { decision: SamplingDecision.RECORD_AND_SAMPLED };
      return root.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => `followLinks(${String(root)})`,
  };
}
