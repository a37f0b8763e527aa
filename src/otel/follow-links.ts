import { type Sampler, SamplingDecision, TraceFlags } from '@opentelemetry/api';

/**
 * A sampler for a part of all traces: attempts are sampled if their delivery was, however much later and in whichever process,
 * and `root` decides about the rest. A sampler that draws for each attempt anew leaves deliveries without their attempts, and
 * attempts without their delivery.
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
      if (links.length === 0) return root.shouldSample(context, traceId, name, kind, attributes, links);
      const isSampled = links.some(({ context: { traceFlags } }) => (traceFlags & TraceFlags.SAMPLED) !== 0);
      return { decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
    },
    toString: () => `followLinks(${String(root)})`,
  };
}
